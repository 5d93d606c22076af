"""Every default of a fit, and the configuration of a fit."""

from __future__ import annotations

from dataclasses import dataclass

from ..features.splines import Basis, BasisSettings
from ..measures import ConfusionMeasure, Measure
from ..solvers.base import Solver
from ..solvers.sharpen import Sharpen

# How much is spent on the choice between models.

FEW_ROWS = 20_000
"""Up to so many rows the whole choice is made: seven starts, five folds."""

FEW_ROWS_OF_SCARCE_POINTS = 35_000
"""The same where the rarer class has fewer than PLENTY_PER_COLUMN points. (w8a, 34,800 rows: F1 +0.005, recall at
a precision of 0.8 +0.05.)"""

MANY_ROWS = 100_000
"""From so many rows on the least choice is made; in between it shrinks step by step, and CPU time never jumps."""

MANY_ROWS_OF_PLENTY = 0.7
"""The same, as a share of MANY_ROWS, where the rarer class has PLENTY_PER_COLUMN points. (ijcnn1, donors, 42,000
to 55,000 rows: two starts on all rows do no worse than two on three folds, in under half the CPU time.)"""

VALUES_PER_ROW = 400
"""Rows of more values than this count as more rows. (mnist, 49,000 rows of 784: the choice would take minutes.)"""

FEW_POINTS = 1_000
"""With fewer points of the rarer class, and few rows, folds are drawn three times. (mammography: F1 +0.01.)"""

PLENTY_PER_COLUMN = 50
"""With so many points of the rarer class per column all rows train and choose: a linear model cannot overfit by as
much as a validation part would be in error. (covtype-5: a held-out half costs 0.01 of F1.)"""

PLENTY_PER_CODE = 25
"""The same for the columns of a basis: hinges of one column share what they tell. (F1, mean of 2 or 3 seeds,
against 50: covtype-5 with curves .450 and .439, with pairs .532 and .517, ijcnn1 .805 and .803, .919 and .915, in
half to three quarters of the CPU time; covtype-5 varies over seeds by .002 instead of .006.)"""

FOLDS = 5
REPEATS = 3

LEAST_FOLDS = 3
"""Of scarce points, up to MANY_ROWS; two beyond. (covtype-5, celeba, creditcard, protein_homo, ipsweep, 45,000 to
100,000 rows, F1 and G-mean: +0.003; F1 of covtype-5 +0.007.)"""

CLASS_WEIGHT_EXPONENTS = (0.5, 1.0, 0.0)
"""Of the stochastic starts that few rows choose from."""

PENALIZED_EXPONENTS, PENALIZED_C = (0.0, 1.0), (0.03, 1.0)
"""Of the penalized starts that few rows choose from. (coil_2000, SMS spam, w8a: +0.01.)"""

SPARSE_ALPHA = 3e-4
"""Of a start beside the one without a penalty, of sparse rows too many for the whole choice and with scarce points
per column. (A million rows, 3,938 columns, as good as one-hot logistic regression instead of .002 below. Census
income, ta_feng, geonames, covtype with bins, kdd99, two splits each: F1 +.0014, worst -.002, G-mean +.0002.)"""

PENALIZED_COST = 2.5
"""CPU time of a penalized start, per that of a stochastic one with its sharpening. (ijcnn1, donors, celeba.)"""

# Rows so few that all of them are learned from at once.

BATCH_ROWS = 40_000
"""Up to so many rows, in memory."""

BATCH_VALUES_PER_ROW = 64
"""Dense rows of more values than this count as more rows, for the folds, up to CURVATURE_COLUMNS. (20,000 rows of
128 columns: a quarter of the CPU time, F1 and G-mean +-0.003. With 256 columns F1 falls by 0.006.)"""

BATCH_C = (0.003, 3.0)
"""Of the penalized starts, the strong penalty first."""

BATCH_ROUNDS = (1, 4)
"""Of sharpening, after which a model is a candidate. (16 small tables, 12 splits: +0.0014 above 1 and 2.)

Sparse and wide rows take the first only. (Reuters, SMS spam, a9a: more rounds do no better than one.)"""

CURVATURE_COLUMNS = 128
"""Up to so many columns of dense rows, a product of the rows by themselves costs little more than a pass."""

WHOLE_CURVATURE_COLUMNS, CURVATURE_ROWS_PER_COLUMN = 64, 32
"""Beyond so many columns, so many rows per column tell the curvature. (20,000 rows of 128 columns, made up and of
mnist, F1 and G-mean, two splits: a third of the CPU time, with fewer folds; values +0.0009 on average.)"""

TOGETHER_VALUES, TOGETHER_POINTS_PER_COLUMN = 1 << 20, 25
"""From so many values on, all folds and starts learn side by side from dense rows of more than
WHOLE_CURVATURE_COLUMNS and up to CURVATURE_COLUMNS, with so many points of the rarer class per column; they are
sharpened once. (20,000 rows of 128 columns, a9a: a third to a half of the CPU time, F1 +-0.000, G-mean -0.001;
protein_homo, with 3 points per column, would lose 0.004.)"""

TOGETHER_ROWS_PER_COLUMN, TOGETHER_BYTES = 4, 1 << 27
"""So are dense rows that are no more per column, beyond IN_MEMORY_BYTES up to so many bytes. (5,000 rows of 2,000
columns, products of the columns of optical_digits, coil_2000 and protein_homo.)"""

BATCH_SMOOTHING = 2.0
"""How many half standard errors below the best a threshold may do to count in their mean. (The same: +0.0008.)"""

WIDE = 5
"""From so many columns per row on, dense rows are wide: centroids are compared beside one penalized start, and
nothing is sharpened. (200 rows of 5,000 columns, 20 of them telling: G-mean +0.05.)"""

BATCH_FEW_POINTS, BATCH_REPEATS = 60, 2
"""With fewer points of the rarer class, folds are drawn twice."""

# Many classes.

CLASS_C = (0.1, 3.0)
"""Of the penalized starts of many classes, the strong penalty first."""

EVEN_CLASSES = 2.0
"""Up to this factor between the largest and the smallest class, class weights make no difference to tell."""

CLASS_CLIMBS = (8, 40, 120)
"""Steps up the measure, on all rows at once, after which a model is a candidate. (letter: macro F1 +.028.)"""

CLASS_CLIMB_PASSES = (1, 2, 4)
"""The same in passes, row by row."""

CLASS_CLIMB_ROWS = 15
"""Rows per number of the model from which on a climb pays: fewer overfit. (iris, digits, abalone: no gain.)"""

CLASS_BATCH_ROWS, CLASS_BATCH_VALUES = 150_000, 1 << 26
"""Up to so many rows, and values times classes, all rows are learned from at once. (covtype, 42,000 and 91,000
rows: macro F1 +.025 and +.036 above passes, in up to four times the CPU time. More than CLASS_FOLD_ROWS rows with
plenty of each class take passes: about as good, in a fifth to a half of the time.)"""

CLASS_FOLD_ROWS = 10_000
"""Up to so many rows each of five folds validates; beyond, each of three, and one start makes do, or all rows both
learn and choose where the smallest class has PLENTY_PER_COLUMN rows. (covtype, 105,000 rows: macro F1 +.01 with
three folds above one.)"""

CLASS_CHOICE_ROWS = 20_000
"""Rows that choose where all rows learn. (130,000 made-up rows of 3 and 5 classes, mnist's 30 main directions,
covtype without its rarest class, against a fifth of the rows held out: macro F1, worst recall and Matthews'
correlation +.001 in the mean, in half of the CPU time.)"""

CLASS_CUT_ROWS = 10_000
"""Rows that gains and offsets are taken from, between two passes; and that judge stages where all rows learn."""

CLASS_PASSES = 3
"""Over the rows, of a start that learns row by row. (covtype, letter: as good as L-BFGS with 100 iterations.)"""

# How long a start learns.

STEERING_ROWS, STEERING_POINTS = 200_000, 20_000
"""Under a bound so many rows, with so many points of the rarer class, tell the class weights of the next pass."""

START_POINTS = 800_000
"""A start of many rows meets about so many points, in 4 to 8 passes."""

START_PASSES = 8
WHITENED_START_PASSES = 2
"""Whitened rows need fewer passes. (ijcnn1, covtype: no gain from more.)"""

# Whitening.

WHITENED_ROWS = 20_000
"""From so many dense rows on, whitening pays: fewer cannot tell signal from noise in all directions."""

WHITENED_COLUMNS = 256
"""Up to so many columns: multiplying rows by a square matrix costs more than it saves beyond."""

WHITENED_CODES = 1_024
"""The same for the columns of a basis, which are strongly correlated. (ijcnn1 with pairs, F1: .904 in half the
time, .899 without.)"""

# A basis: curves and pairs.

BASIS_ROWS = 20_000
"""Knots and the moments of hinges and products come from so many rows."""

MOST_KNOTS, FEWEST_KNOTS, POINTS_PER_KNOT = 8, 3, 25
"""Knots per column; with few rows, one more for every so many points of the rarer class. (5 to 8 do better than 16
to 32.)"""

POINTS_PER_KNOT_AND_COLUMN = 4
"""The same for many rows. (creditcard and protein_homo, 12 points per column, 5 knots instead of 8: F1 +0.008, in
two thirds of the CPU time; covtype-5 and ijcnn1, above 100, lose 0.01.)"""

FEW_CURVE_POINTS = 60
"""With fewer points of the rarer class, curves and pairs are kept only if they do better out of fold than the
user's columns, by more than noise. (15 small tables, 8 other splits, F1 against a linear model: curves +.048,
worst -.051, become +.052 and -.030; pairs +.045, worst -.159, become +.057 and -.037.)"""

HINGE_DEVIATION = 0.3
"""Of hinges with few rows, where the user's columns and products have 1: a penalty bends curves back to lines. (25
tables, the worst of F1 against a linear model: plain hinges -0.12, deviation 1 -0.34, 0.3 -0.02.)"""

PLENTY_TO_BEND, LEAST_BEND = 400, 0.6
"""With few rows and fewer points of the rarer class than this, hinges vary less by the root of the share, down to
a factor, and products by its square. (A linear truth with 150 positives, 20 draws, F1: curves -.011 without it,
-.005 with it; pairs -.008 and -.005. A factor of .6 for all products costs letter A .017 of F1.)"""

CODED_SAMPLE_ROWS = 80_000
"""Of each class, at most, where rows of files or shards are coded, and so several times as wide. (covtype-5 with
curves, F1 against rows in memory, 4 seeds: -.004, with 40,000 -.008.)"""

CURVED_COLUMNS = 2_048
"""Columns that curves may make; of many columns each has fewer knots, down to none."""

# Files and clusters.

IN_MEMORY_BYTES = 1 << 25
"""Files and shards of no more bytes are read whole and fitted in memory: a sample takes as much anyway."""

SAMPLE_BYTES = 1 << 24
"""Of each class: what models are evaluated on between the passes over a stream."""

CHECKPOINT_ROWS = 20_000_000
"""Rows between two checkpoints, besides the one after every pass."""

SHARED_ROWS = 1_000_000
"""From so many rows in memory on, several threads learn side by side, each from a share of about so many rows, or
of half as many. (2M x 30 made up, F1, G-mean and min: +-0.001; four shares would take a fifth more CPU time.)"""

TAIL_REACH = 48.0
"""How many standard deviations the histogram of a last pass reaches from the mean: bounds lead into the tails."""

# Rows that come one batch at a time.

ONLINE_SAMPLE_ROWS = 10_000
"""Of each class, of at most SAMPLE_BYTES: what ``partial_fit`` chooses its threshold on. (Nine data sets: F1 +0.02
above 2,000, on creditcard and kdd99, whose positives are rare, +0.04 and +0.12; 30,000 do no better.)"""

FEW_SCORES = 4_096
"""Of more of them no exact threshold is searched while learners of a stream compete. (20,000 take a sixth of the
CPU time.)"""

BEGINNING_ROWS = 100
"""Of the rarer class: until then a run of ``partial_fit`` begins anew with each block. (Mean F1 of six generated
streams with .2 to 1% positives: 1 row .28, 10 .32, 30 .35, 100 .42.)"""

FIRST_BLOCK, LIVE_BLOCK, ONLINE_BLOCK = 100, 250, 10_000
"""Rows that are learned from together, whatever batches they come in: at first, and at most, by learners that
forget and by the run that does not. (That run in blocks of 1,000: F1 of covtype-5 -0.013, of creditcard -0.05.)"""

CHOICE_BLOCK = 1_000
"""Rows between two searches for the thresholds of all learners of a stream, at most; each costs as much as 100
rows."""

LATEST_SHARE = 16
"""A block is a 16th of the rows so far; and a model that is read has learned from all but a 16th."""


def online_block(learned: int, most: int) -> int:
    """Return how many rows to learn from together after so many."""
    return min(max(learned // LATEST_SHARE, FIRST_BLOCK), most)


YOUNG_ROWS, YOUNG_BLOCK = 100, 50
"""While a class has so few rows, learners of a stream score and learn its blocks in parts of so many rows."""

HALF_LIVES = (5_000.0, 1_000.0, 250.0)
"""Rows after which a row counts half, of the learners of a stream that forget. (16 streams: no single one fits
all.)"""

GAINS_HALF_LIFE = 1_000.0
"""Up to this half-life the threshold is where predicting a row positive gains as much as not. (31 streams: as good
as recent scores for F1 and G-mean, Min +.01, without a search.)"""

CONSTANT_STEP = 0.03
"""Of one more learner, without class weights: it follows bursts of a class. (31 streams, F1 of windows +.017, of
all rows +.02, G-mean +.018; an averaged AdaGrad in its place gives none of it, steps of .01 and .1 give half.)"""

LEAST_GAIN = 0.25
"""Of a rate, where a threshold is set by gains: a measure that does not see one class would not bound it."""

RECENT_POSITIVES, RECENT_NEGATIVES = 500, 2_000
"""Scores that choose a recent threshold."""

CHOICE_ROWS, CHOICE_POSITIVES, CHOICE_MOST_ROWS = 2_000.0, 100.0, 20_000.0
"""The half-life of what is counted for the choice among experts and for the rates: the larger of rows, and rows
per so many positives, up to the last. (Without it the choice after a long stretch of one class rests on what was
predicted before. 31 streams: F1 +.002 in the mean, +.02 where positives come in bursts.)"""


@dataclass(frozen=True)
class FitConfig:
    """What a fit is asked to do, wherever its rows are."""

    measure: Measure
    solver: Solver
    """The solver that the user named; else the one that suits the measure, or that sharpening starts from."""
    start: Solver | None
    """The solver if the user named one; None lets the library choose where sharpening starts."""
    sharpen: Sharpen | None
    """None leaves the solver's plain algorithm."""
    tune: bool = True
    """Move the threshold."""
    l2: float = 0.0
    validation_fraction: float | None = None
    """The share of rows that validate each fold; None lets the number of rows decide."""
    standardize: bool = True
    passes: int | None = None
    """Over the rows, to learn from them; None lets their number decide."""
    basis: BasisSettings | Basis | str | None = None
    """What rows are coded in; "auto" chooses it, None leaves the user's columns."""
    of_many: ConfusionMeasure | None = None
    """The measure of more than two classes; ``measure`` then tells one class from the rest."""
    half_life: str | float | None = None
    """Of rows that come one batch at a time: "auto", rows, or None to forget nothing."""
    threads: int = 1
    """Of rows in memory: for runs, or for shares of many rows. More than two give the same outcome as two."""
