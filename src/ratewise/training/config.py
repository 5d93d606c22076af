"""Every default of a fit, and what a fit is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from ..measures import Measure
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

FOLDS = 5
REPEATS = 3

LEAST_FOLDS = 3
"""Of scarce points, up to MANY_ROWS; two beyond. (covtype-5, celeba, creditcard, protein_homo, ipsweep, 45,000 to
100,000 rows, F1 and G-mean: +0.003; F1 of covtype-5 +0.007.)"""

CLASS_WEIGHT_EXPONENTS = (0.5, 1.0, 0.0)
"""Of the stochastic starts that few rows choose from."""

PENALIZED_EXPONENTS, PENALIZED_C = (0.0, 1.0), (0.03, 1.0)
"""Of the penalized starts that few rows choose from. (coil_2000, SMS spam, w8a: +0.01.)"""

PENALIZED_COST = 2.5
"""CPU time of a penalized start, per that of a stochastic one with its sharpening. (ijcnn1, donors, celeba.)"""

# Rows so few that all of them are learned from at once.

BATCH_ROWS = 40_000
"""Up to so many rows, in memory."""

BATCH_C = (0.003, 3.0)
"""Of the penalized starts, the strong penalty first."""

BATCH_ROUNDS = (1, 4)
"""Of sharpening, after which a model is a candidate. (16 small tables, 12 splits: +0.0014 above 1 and 2.)

Sparse and wide rows take the first only. (Reuters, SMS spam, a9a: more rounds do no better than one.)"""

CURVATURE_COLUMNS = 128
"""Up to so many columns of dense rows, a product of the rows by themselves costs little more than a pass."""

BATCH_SMOOTHING = 2.0
"""How many half standard errors below the best a threshold may do to count in their mean. (The same: +0.0008.)"""

WIDE = 5
"""From so many columns per row on, dense rows are wide: centroids are compared beside one penalized start, and
nothing is sharpened. (200 rows of 5,000 columns, 20 of them telling: G-mean +0.05.)"""

BATCH_FEW_POINTS, BATCH_REPEATS = 60, 2
"""With fewer points of the rarer class, folds are drawn twice."""

# How long a start learns.

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

# Files and clusters.

IN_MEMORY_BYTES = 1 << 25
"""Files and shards of no more bytes are read whole and fitted in memory: a sample takes as much anyway."""

SAMPLE_BYTES = 1 << 24
"""Of each class: what models are evaluated on between the passes over a stream."""

CHECKPOINT_ROWS = 20_000_000
"""Rows between two checkpoints, besides the one after every pass."""

TAIL_REACH = 48.0
"""How many standard deviations the histogram of a last pass reaches from the mean: bounds lead into the tails."""

# Rows that come one batch at a time.

ONLINE_SAMPLE_ROWS = 10_000
"""Of each class, of at most SAMPLE_BYTES: what ``partial_fit`` chooses its threshold on. (Nine data sets: F1 +0.02
above 2,000, on creditcard and kdd99, whose positives are rare, +0.04 and +0.12; 30,000 do no better.)"""


@dataclass(frozen=True)
class FitConfig:
    """What a fit is asked to do, whatever its rows lie in."""

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
    threads: int = 1
    """Runs side by side, for rows in memory; the outcome does not depend on it."""
