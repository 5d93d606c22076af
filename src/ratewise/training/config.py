"""The defaults and the configuration of a fit.

"Points" are rows. "Starts" are the models that sharpening may begin from.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..features.splines import Basis, BasisSettings
from ..measures import ConfusionMeasure, Measure
from ..solvers.base import Solver
from ..solvers.sharpen import Sharpen

# How much is spent on the choice between models.

FEW_ROWS = 20_000
"""A fit of at most this many rows chooses among seven starts with five folds."""

FEW_ROWS_OF_SCARCE_POINTS = 35_000
"""FEW_ROWS for data whose rarer class has fewer than PLENTY_PER_COLUMN points per column. (w8a, 34,800 rows: F1
+0.005, recall at a precision of 0.8 +0.05.)"""

MANY_ROWS = 100_000
"""A fit of at least this many rows uses the fewest folds and starts. Between FEW_ROWS and MANY_ROWS their number
falls step by step, so that CPU time never jumps."""

MANY_ROWS_OF_PLENTY = 0.7
"""The factor on MANY_ROWS where the rarer class has PLENTY_PER_COLUMN points per column. (ijcnn1, donors, 42,000
to 55,000 rows: two starts on all rows do no worse than two on three folds, in under half the CPU time.)"""

VALUES_PER_ROW = 400
"""A row with more values than this counts as several rows. (mnist, 49,000 rows of 784: the choice would take
minutes.)"""

FEW_POINTS = 1_000
"""With fewer than FEW_ROWS rows and fewer points of the rarer class than this, the fit draws its folds three
times. (mammography: F1 +0.01.)"""

PLENTY_PER_COLUMN = 50
"""With at least this many points of the rarer class per column, all rows both train and choose: overfitting of a
linear model costs less than the error of a validation part. (covtype-5: a held-out half costs 0.01 of F1.)"""

PLENTY_PER_CODE = 25
"""PLENTY_PER_COLUMN for the columns of a basis: hinges of one column are correlated. (F1, mean of 2 or 3 seeds,
against 50: covtype-5 with curves .450 and .439, with pairs .532 and .517, ijcnn1 .805 and .803, .919 and .915, in
half to three quarters of the CPU time; covtype-5 varies over seeds by .002 instead of .006.)"""

FOLDS = 5
REPEATS = 3

LEAST_FOLDS = 3
"""The fewest folds where points of the rarer class are scarce, for up to MANY_ROWS rows. Larger data use two.
(covtype-5, celeba, creditcard, protein_homo, ipsweep, 45,000 to 100,000 rows, F1 and G-mean: +0.003; F1 of
covtype-5 +0.007.)"""

CLASS_WEIGHT_EXPONENTS = (0.5, 1.0, 0.0)
"""The class-weight exponents of the stochastic starts, for few rows."""

PENALIZED_EXPONENTS, PENALIZED_C = (0.0, 1.0), (0.03, 1.0)
"""The class-weight exponents and C of the penalized starts, for few rows. (coil_2000, SMS spam, w8a: +0.01.)"""

SPARSE_ALPHA = 3e-4
"""The L2 strength of a second start, for many sparse rows with few points of the rarer class per column. (A
million rows, 3,938 columns, as good as one-hot logistic regression instead of .002 below. Census income, ta_feng,
geonames, covtype with bins, kdd99, two splits each: F1 +.0014, worst -.002, G-mean +.0002.)"""

PENALIZED_COST = 2.5
"""The CPU time of a penalized start, divided by that of a stochastic start with its sharpening. (ijcnn1, donors,
celeba.)"""

# Batches: fits whose steps use all rows at once.

BATCH_ROWS = 40_000
"""The most rows of a batch; they must be in memory."""

BATCH_VALUES_PER_ROW = 64
"""For the number of folds, a dense row with more values than this counts as several rows, up to CURVATURE_COLUMNS
columns. (20,000 rows of 128 columns: a quarter of the CPU time, F1 and G-mean +-0.003. With 256 columns F1 falls
by 0.006.)"""

BATCH_C = (0.003, 3.0)
"""C of the penalized starts, the strong penalty first."""

BATCH_ROUNDS = (1, 4)
"""The model is a candidate after each of these rounds of sharpening. (16 small tables, 12 splits: +0.0014 above 1
and 2.)

Sparse rows and rows of many columns take the first round only. (Reuters, SMS spam, a9a: more rounds do no better
than one.)"""

CURVATURE_COLUMNS = 128
"""Up to this many columns of dense rows, the product of the matrix with its transpose (the curvature) costs little
more than a pass."""

WHOLE_CURVATURE_COLUMNS, CURVATURE_ROWS_PER_COLUMN = 64, 32
"""With more columns than the first number, the curvature is estimated from the second number of rows per column.
(20,000 rows of 128 columns, made up and of mnist, F1 and G-mean, two splits: a third of the CPU time, with fewer
folds; values +0.0009 on average.)"""

TOGETHER_VALUES, TOGETHER_POINTS_PER_COLUMN = 1 << 20, 25
"""With at least this many values, and this many points of the rarer class per column, all folds and starts learn
side by side and are sharpened once. The rows must be dense, with more than WHOLE_CURVATURE_COLUMNS and at most
CURVATURE_COLUMNS columns. (20,000 rows of 128 columns, a9a: a third to a half of the CPU time, F1 +-0.000, G-mean
-0.001; protein_homo, with 3 points per column, would lose 0.004.)"""

TOGETHER_ROWS_PER_COLUMN, TOGETHER_BYTES = 4, 1 << 27
"""Folds and starts also learn side by side where dense rows have at most this many rows per column and take
between IN_MEMORY_BYTES and this many bytes. (5,000 rows of 2,000 columns, products of the columns of
optical_digits, coil_2000 and protein_homo.)"""

BATCH_SMOOTHING = 2.0
"""The chosen threshold is the mean of those whose values are within this many half standard errors of the best.
(16 small tables, 12 splits: +0.0008.)"""

WIDE = 5
"""With at least this many columns per row, dense data are called wide: the candidates are shrunken centroids and
one penalized start, and nothing is sharpened. (200 rows of 5,000 columns, 20 of them informative: G-mean
+0.05.)"""

BATCH_FEW_POINTS, BATCH_REPEATS = 60, 2
"""With fewer points of the rarer class than the first number, a batch draws its folds twice."""

# Many classes.

CLASS_C = (0.1, 3.0)
"""C of the penalized starts with many classes, the strong penalty first."""

EVEN_CLASSES = 2.0
"""Up to this ratio of the largest class to the smallest, class weights make no measurable difference."""

CLASS_CLIMBS = (8, 40, 120)
"""The model is a candidate after each of these numbers of ascent steps on all rows. (letter: macro F1 +.028.)"""

CLASS_CLIMB_PASSES = (1, 2, 4)
"""The model is a candidate after each of these numbers of ascent passes, row by row."""

CLASS_CLIMB_ROWS = 15
"""Ascent on the measure needs at least this many rows per coefficient: with fewer it overfits. (iris, digits,
abalone: no gain.)"""

CLASS_BATCH_ROWS, CLASS_BATCH_VALUES = 150_000, 1 << 26
"""Each step uses all rows if there are at most this many rows, and at most this many values times classes.
(covtype, 42,000 and 91,000 rows: macro F1 +.025 and +.036 above passes, in up to four times the CPU time. More
than CLASS_FOLD_ROWS rows with plenty of each class take passes: about as good, in a fifth to a half of the
time.)"""

CLASS_FOLD_ROWS = 10_000
"""Up to this many rows, a fit has five folds. Beyond, it has three folds and one start; or all rows both learn and
choose, where the smallest class has PLENTY_PER_COLUMN rows per column. (covtype, 105,000 rows: macro F1 +.01 with
three folds above one.)"""

CLASS_CHOICE_ROWS = 20_000
"""The most rows that choose a model where all rows learn. (130,000 made-up rows of 3 and 5 classes, mnist's 30
main directions, covtype without its rarest class, against a fifth of the rows held out: macro F1, worst recall and
Matthews' correlation +.001 in the mean, in half of the CPU time.)"""

CLASS_CUT_ROWS = 10_000
"""The most rows that determine gains and offsets between two passes, and that compare stages where all rows
learn."""

CLASS_PASSES = 3
"""Passes over the rows by a start that learns row by row. (covtype, letter: as good as L-BFGS with 100
iterations.)"""

# How long a start learns.

STEERING_ROWS, STEERING_POINTS = 200_000, 20_000
"""Under a bound, a sample of this many rows, with this many points of the rarer class, sets the class weights of
the next pass."""

START_POINTS = 800_000
"""A start on many rows learns from about this many points, in 4 to 8 passes."""

START_PASSES = 8
WHITENED_START_PASSES = 2
"""Whitened rows need fewer passes. (ijcnn1, covtype: no gain from more.)"""

# Whitening.

WHITENED_ROWS = 20_000
"""Whitening needs at least this many dense rows: fewer cannot distinguish signal from noise in all directions."""

WHITENED_COLUMNS = 256
"""The most columns that are whitened: with more, multiplying rows by a square matrix costs more than it saves."""

WHITENED_CODES = 1_024
"""WHITENED_COLUMNS for the columns of a basis, which are strongly correlated. (ijcnn1 with pairs, F1: .904 in half
the time, .899 without.)"""

# A basis: curves and pairs.

BASIS_ROWS = 20_000
"""The most rows that determine the knots, and the moments of hinges and products."""

MOST_KNOTS, FEWEST_KNOTS, POINTS_PER_KNOT = 8, 3, 25
"""The most and the fewest knots per column; with few rows, the number of points of the rarer class per knot. (5 to
8 do better than 16 to 32.)"""

POINTS_PER_KNOT_AND_COLUMN = 4
"""With many rows, the number of points of the rarer class per knot and column. (creditcard and protein_homo, 12
points per column, 5 knots instead of 8: F1 +0.008, in two thirds of the CPU time; covtype-5 and ijcnn1, above 100,
lose 0.01.)"""

FEW_CURVE_POINTS = 60
"""With fewer points of the rarer class than this, curves and pairs are kept only if their out-of-fold value
exceeds that of the user's columns by more than noise. (15 small tables, 8 other splits, F1 against a linear model:
curves +.048, worst -.051, become +.052 and -.030; pairs +.045, worst -.159, become +.057 and -.037.)"""

HINGE_DEVIATION = 0.3
"""The standard deviation of hinges with few rows; the user's columns and products have 1. A penalty then prefers
lines to curves. (25 tables, the worst of F1 against a linear model: plain hinges -0.12, deviation 1 -0.34, 0.3
-0.02.)"""

PLENTY_TO_BEND, LEAST_BEND = 400, 0.6
"""With few rows and fewer points of the rarer class than the first number, the deviation of hinges is multiplied
by the root of points / PLENTY_TO_BEND, at least LEAST_BEND, and that of products by the square of this factor. (A
linear truth with 150 positives, 20 draws, F1: curves -.011 without it, -.005 with it; pairs -.008 and -.005. A
factor of .6 for all products costs letter A .017 of F1.)"""

CODED_SAMPLE_ROWS = 80_000
"""The most sampled rows of each class where rows of files or shards are coded, and so have several times as many
columns. (covtype-5 with curves, F1 against rows in memory, 4 seeds: -.004, with 40,000 -.008.)"""

CURVED_COLUMNS = 2_048
"""The most columns that curves may make. With many columns, each gets fewer knots, or none."""

# Files and clusters.

IN_MEMORY_BYTES = 1 << 25
"""Files and shards of at most this many bytes are fitted in memory: a sample would take as much."""

SAMPLE_BYTES = 1 << 24
"""The most bytes of each class in the sample that evaluates models between two passes over a stream."""

CHECKPOINT_ROWS = 20_000_000
"""Rows between two checkpoints. Another one is written after every pass."""

SHARED_ROWS = 1_000_000
"""With at least this many rows in memory, several threads learn side by side. The share of each has about this
many rows, or half as many. (2M x 30 made up, F1, G-mean and min: +-0.001; four shares would take a fifth more CPU
time.)"""

TAIL_REACH = 48.0
"""How many standard deviations from the mean the histogram of a last pass covers. Thresholds under bounds may lie
in the tails."""

# Rows that come one batch at a time.

ONLINE_SAMPLE_ROWS = 10_000
"""Rows of each class, within SAMPLE_BYTES, in the sample on which ``partial_fit`` chooses its threshold. (Nine
data sets: F1 +0.02 above 2,000, on creditcard and kdd99, whose positives are rare, +0.04 and +0.12; 30,000 do no
better.)"""

FEW_SCORES = 4_096
"""With more scores than this, an approximate threshold is used while the learners of a stream compete. (20,000
take a sixth of the CPU time.)"""

BEGINNING_ROWS = 100
"""Until the rarer class has this many rows, a run of ``partial_fit`` starts again with each block. (Mean F1 of six
generated streams with .2 to 1% positives: 1 row .28, 10 .32, 30 .35, 100 .42.)"""

FIRST_BLOCK, LIVE_BLOCK, ONLINE_BLOCK = 100, 250, 10_000
"""The rows of the first block; the most rows of a block for learners that forget; the most rows of a block for the
run that forgets nothing. Blocks do not depend on the user's batches. (That run in blocks of 1,000: F1 of covtype-5
-0.013, of creditcard -0.05.)"""

CHOICE_BLOCK = 1_000
"""The most rows between two searches for the thresholds of all learners of a stream. A search costs as much as
learning from 100 rows."""

LATEST_SHARE = 16
"""A block has one 16th of the rows so far. A model that is read has learned from all but one 16th of the rows."""


def online_block(learned: int, most: int) -> int:
    """Return the number of rows in the next block, after this many have been learned from."""
    return min(max(learned // LATEST_SHARE, FIRST_BLOCK), most)


YOUNG_ROWS, YOUNG_BLOCK = 100, 50
"""While a class has fewer rows than the first number, the learners of a stream score and learn each block in parts
of the second number of rows."""

HALF_LIVES = (5_000.0, 1_000.0, 250.0)
"""The half-lives, in rows, of the learners of a stream that forget. (16 streams: no single one fits all.)"""

GAINS_HALF_LIFE = 1_000.0
"""Up to this half-life, the threshold is the score at which predicting a row positive gains as much as predicting
it negative. (31 streams: as good as recent scores for F1 and G-mean, Min +.01, without a search.)"""

CONSTANT_STEP = 0.03
"""The step of one more learner, without class weights: it follows bursts of a class. (31 streams, F1 of windows
+.017, of all rows +.02, G-mean +.018; an averaged AdaGrad in its place gives none of it, steps of .01 and .1 give
half.)"""

LEAST_GAIN = 0.25
"""The smallest gain of a rate where gains set a threshold. Without it, a measure that ignores one class would put
no limit on the threshold."""

RECENT_POSITIVES, RECENT_NEGATIVES = 500, 2_000
"""The latest scores of each class that set a threshold from recent scores."""

CHOICE_ROWS, CHOICE_POSITIVES, CHOICE_MOST_ROWS = 2_000.0, 100.0, 20_000.0
"""The half-life, in rows, of the counts that choose among experts and give the rates: CHOICE_ROWS, or the rows
that contain CHOICE_POSITIVES positives if these are more, but at most CHOICE_MOST_ROWS. (Without it the choice
after a long stretch of one class rests on what was predicted before. 31 streams: F1 +.002 in the mean, +.02 where
positives come in bursts.)"""


@dataclass(frozen=True)
class FitConfig:
    """The settings of a fit; they do not depend on where the rows are."""

    measure: Measure
    solver: Solver
    """The solver that the user named; otherwise one that suits the measure, or that sharpening starts from."""
    start: Solver | None
    """The solver if the user named one; None lets the library choose where sharpening starts."""
    sharpen: Sharpen | None
    """None uses the solver's plain algorithm."""
    tune: bool = True
    """Whether the fit moves the threshold."""
    l2: float = 0.0
    validation_fraction: float | None = None
    """The share of rows that validate each fold; None lets the number of rows decide."""
    standardize: bool = True
    passes: int | None = None
    """Passes over the rows; None lets the number of rows decide."""
    basis: BasisSettings | Basis | str | None = None
    """The basis that encodes the rows; "auto" chooses it, None uses the user's columns."""
    of_many: ConfusionMeasure | None = None
    """The measure of more than two classes; ``measure`` is then used for one class against the rest."""
    half_life: str | float | None = None
    """For rows that come one batch at a time: "auto", a number of rows, or None to forget nothing."""
    threads: int = 1
    """Threads for rows in memory: for runs, or for shares of many rows. More than two give the same result as
    two."""
