"""Input checked in one place, whole, before anything is changed; each refusal is one clear sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from .._foreign import canonical_csr, plain_matrix
from ..solvers import Solver
from ..streams.encode import Encoder, learn_encoder
from ..streams.formats.batches import is_table
from ..training.rows import class_totals
from ..training.source import occupied_columns
from ..transforms import Standardizer

_LIGHTEST, _HEAVIEST = 1e-30, 1e30  # weights whose squares float32 can hold, or nearly so


class Columns(NamedTuple):
    """What a fit remembers of the columns."""

    number: int
    names: NDArray[Any] | None
    encoder: Encoder | None = None
    """How a table becomes a matrix, if it was one."""

    @classmethod
    def of(cls, X: Any, estimator: BaseEstimator, *, occupied_only: bool = False) -> tuple[CheckedRows, Columns]:
        """Check X as a fit does, without touching the estimator: a refused fit must leave it as it was.

        ``occupied_only`` leaves out columns of sparse rows that have no entry, where there are many.
        """
        if getattr(estimator, "encode", None) is not None:
            matrix, columns = cls._encoded(X, estimator)
        else:
            probe = copy.copy(estimator)
            matrix = _as_rows(probe, X, reset=True)
            columns = cls(probe.n_features_in_, getattr(probe, "feature_names_in_", None))
        kept, occupied = occupied_columns(matrix) if occupied_only else (matrix, None)
        # One reading of the rows tells their statistics, and whether there is a NaN among them.
        with np.errstate(all="ignore"):
            statistics = Standardizer(kept.shape[1]).update(kept)
        if not np.isfinite(statistics.squares).all():
            _require_finite(matrix, columns.names, estimator)
            _refuse_huge(matrix, columns.names)
        return CheckedRows(kept, statistics, occupied), columns

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return self.number if self.encoder is None else self.encoder.n_features

    @classmethod
    def _encoded(cls, X: Any, estimator: BaseEstimator) -> tuple[Any, Columns]:
        if is_table(X):
            encoder = learn_encoder(X, "X")
            named = all(isinstance(name, str) for name in _column_names(X))
            names = np.array(encoder.columns, dtype=object) if named else None
            return encoder.transform(X, "X"), cls(encoder.n_columns, names, encoder)
        probe = copy.copy(estimator)
        matrix = _as_rows(probe, _with_nan(X), reset=True)
        if sparse.issparse(matrix):
            return matrix, cls(probe.n_features_in_, None)
        encoder = Encoder(matrix.shape[1])
        missing = np.isnan(matrix)
        if missing.any():
            with np.errstate(all="ignore"):
                sums = np.where(missing, 0.0, matrix).sum(axis=0, dtype=np.float64)
            encoder.means = sums / np.maximum(matrix.shape[0] - missing.sum(axis=0), 1)
        encoder.fitted = True
        return _filled(matrix, encoder), cls(probe.n_features_in_, None, encoder)

    def store_on(self, estimator: Any) -> None:
        estimator.n_features_in_ = self.number
        if self.encoder is not None:
            estimator.encoder_ = self.encoder
        if self.names is not None:
            estimator.feature_names_in_ = self.names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_


class CheckedRows(NamedTuple):
    """Rows that a fit may learn from, and the statistics of their columns."""

    X: Any
    statistics: Standardizer | None
    occupied: NDArray[np.integer[Any]] | None = None
    """The columns of the user's that X has; None for all."""

    @property
    def number(self) -> int:
        return int(self.X.shape[0])

    def where(self, kept: NDArray[np.bool_]) -> CheckedRows:
        """Some of them."""
        return CheckedRows(self.X[kept], None, self.occupied)

    def standardizer(self, *, active: bool = True) -> Standardizer:
        """Return the standardisation of these rows; none if it is not active."""
        if active and self.statistics is not None:
            return self.statistics
        return Standardizer(self.X.shape[1], active=active).update(self.X)


def validate_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as a C-contiguous float array or CSR matrix of finite numbers, with the columns of the fit.

    A table becomes a matrix by the encoder of the model, if it has one and the table is not encoded already.
    """
    X = _encoded_rows(estimator, X, reset=reset)
    _require_finite(X, getattr(estimator, "feature_names_in_", None), estimator)
    return X


def _encoded_rows(estimator: BaseEstimator, X: Any, *, reset: bool, canonical: bool = True) -> Any:
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None and encoder.named and is_table(X) and not _is_encoded(X, encoder):
        return encoder.transform(X, "X")
    X = _as_rows(estimator, X, reset=reset, canonical=canonical)
    if encoder is not None and getattr(estimator, "encode", None) is not None:
        if X.shape[1] != encoder.n_features:
            raise ValueError(
                f"The model was fitted on a table, of which {', '.join(map(repr, encoder.categories[:5]))} became "
                f"several columns each: give a table, with the columns {', '.join(encoder.columns[:5])} ..."
            )
        X = X if sparse.issparse(X) else _filled(X, encoder)
    return X


def scores_of_rows(estimator: BaseEstimator, X: Any, score: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Return what ``score`` returns for X as by :func:`validate_rows`, which is not read again to be checked.

    A product with a model adds up entries that are stored twice. It is finite only if all numbers are.
    """
    X = _encoded_rows(estimator, X, reset=False, canonical=False)
    with np.errstate(all="ignore"):
        scores = score(X)
        is_finite = bool(np.isfinite(scores.sum()))
    if not is_finite:
        _require_finite(X, getattr(estimator, "feature_names_in_", None), estimator)
    return scores


def _is_encoded(X: Any, encoder: Encoder) -> bool:
    """Return whether a table holds the columns that an encoder gives, not those it takes."""
    return bool(encoder.kinds) and _column_names(X) == list(encoder.feature_names)


def _as_rows(estimator: BaseEstimator, X: Any, *, reset: bool, canonical: bool = True) -> Any:
    X = plain_matrix(X)
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        message = _not_numbers(X)
        if message is None:
            raise
        can_encode = hasattr(estimator, "encode") and is_table(X)
        hint = " Or let MeasureClassifier(encode='auto') encode the table." if can_encode else ""
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{message}{hint} ({error})") from error
    return canonical_csr(checked) if canonical and sparse.issparse(checked) else checked


def _not_numbers(X: Any) -> str | None:
    """Return one sentence on the first column that cannot be read as numbers, if that is what is wrong."""
    names = _column_names(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        names = list(range(X.shape[1]))
    for name in names:
        column = np.asarray(X[:, name] if isinstance(X, np.ndarray) else X[name])
        if not _is_numeric(column):
            shown = next((repr(value) for value in column.tolist() if value is not None), "nothing")
            return (
                f"X: column {name!r} holds {shown[:40]}, which is no number. Make numbers of it, for instance "
                "with sklearn.preprocessing.OneHotEncoder, or leave it out."
            )
    return None


def _column_names(X: Any) -> list[Any]:
    """Return the names of a table's columns: of Arrow, or of pandas and polars."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def _is_numeric(column: NDArray[Any]) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return column.dtype.kind not in "Mm"


def _with_nan(X: Any) -> Any:
    """Return an array with NaN for values that are masked."""
    masked = isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X)
    return np.ma.filled(X.astype(np.float64), np.nan) if masked else X


def _filled(X: NDArray[Any], encoder: Encoder) -> NDArray[Any]:
    """Put the mean of a column where a number is missing."""
    missing = np.isnan(X)
    return np.where(missing, encoder.means, X).astype(X.dtype, copy=False) if missing.any() else X


def _refuse_huge(X: Any, names: NDArray[Any] | None) -> None:
    values = X.data if sparse.issparse(X) else X
    largest = int(np.argmax(np.abs(values)))
    column = int(X.indices[largest]) if sparse.issparse(X) else largest % X.shape[1]
    shown = f"{column} ({names[column]!r})" if names is not None and len(names) == X.shape[1] else str(column)
    raise ValueError(
        f"X contains {values.reshape(-1)[largest]:.3g} in column {shown}, whose square is beyond all numbers. "
        "Bring the column to another scale."
    )


def _require_finite(X: Any, names: NDArray[Any] | None, estimator: Any = None) -> None:
    values = X.data if sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return  # a sum beyond the largest number of the rows' width
    columns = np.unique(X.indices[bad]) if sparse.issparse(X) else np.flatnonzero(bad.any(axis=0))
    kind = "NaN" if np.isnan(values).any() else "infinity"
    shown = [f"{column} ({names[column]!r})" if names is not None else str(column) for column in columns[:5]]
    more = f" and {columns.size - 5} more" if columns.size > 5 else ""
    plural = "s" if columns.size > 1 else ""
    advice = "Impute it first, for instance with sklearn.impute.SimpleImputer in a pipeline"
    if kind == "NaN" and hasattr(estimator, "encode"):
        advice += ", or let MeasureClassifier(encode='auto') put the mean of the column there"
    raise ValueError(f"X contains {kind} in column{plural} {', '.join(shown)}{more}. {advice}.")


class TwoClassTargets(NamedTuple):
    """Checked labels of two classes, with the user's weights."""

    y: NDArray[Any]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None


def two_class_targets(y: Any, n_rows: int, sample_weight: Any) -> TwoClassTargets:
    """Labels and weights checked for rows that another estimator will check."""
    if n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    y, classes = checked_labels(y, n_rows)
    require_two_classes(y, classes)
    if sample_weight is None:
        return TwoClassTargets(y, classes, None)
    weights = checked_weights(sample_weight, y)
    for label in classes:
        if not weights[y == label].any():
            raise ValueError(
                f"All rows of class {label!r} have weight 0, which leaves one class only: a classifier needs "
                "examples of two classes."
            )
    return TwoClassTargets(y, classes, weights)


class CheckedLabels(NamedTuple):
    """Checked labels of the rows, and those that occur."""

    y: NDArray[Any]
    found: NDArray[Any]


def checked_labels(y: Any, n_rows: int) -> CheckedLabels:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = _plain_labels(column_or_1d(_as_array(y), warn=True))
    if y.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{y.shape[0]} labels in y."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if y.dtype.kind in "biu" and y.size and _has_two_values(y):
        return CheckedLabels(y, np.array([y.min(), y.max()]))
    check_classification_targets(y)
    return CheckedLabels(y, np.unique(y))


def _as_array(y: Any) -> Any:
    """Return labels of polars and Arrow, or with a mask, as an array that scikit-learn knows."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("Input y contains masked values; every row needs a label.")
    found = np.asarray(y)
    return found.astype(object) if found.dtype.kind == "T" else found


def _plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels that came as objects in the type they have in common."""
    if y.dtype.kind != "O":
        return y
    kinds = {type(value) for value in y.tolist()}
    if all(issubclass(kind, str) for kind in kinds):
        return y
    if any(value is None or value != value for value in y.tolist()):
        raise ValueError("Input y contains NaN or None; every row needs a label.")
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return y.astype(bool)
    numeric = (int, float, np.number)
    if all(issubclass(kind, numeric) and not issubclass(kind, bool) for kind in kinds):
        return np.array(y.tolist())
    if len(kinds) > 1:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"y mixes labels of different types ({found}): give all of them one type.")
    return y


def _has_two_values(y: NDArray[Any]) -> bool:
    """Without sorting, which for a million labels would take as long as learning from them."""
    low, high = y.min(), y.max()
    return bool(low != high and np.count_nonzero(y == low) + np.count_nonzero(y == high) == y.size)


def require_two_classes(y: NDArray[Any], classes: NDArray[Any]) -> None:
    require_more_than_one_class(classes)
    if classes.size > 2:
        raise ValueError(_not_binary(type_of_target(y), classes))


def require_more_than_one_class(classes: NDArray[Any]) -> None:
    if classes.size == 1:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}): a classifier needs examples of two classes."
        )


def _not_binary(kind: str, classes: NDArray[Any]) -> str:
    return (
        f"Only binary classification is supported. The type of the target is {kind}: {classes.size} classes. "
        "Wrap the estimator in sklearn.multiclass.OneVsRestClassifier for one model per class."
    )


def checked_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity.")
    negative = int((weights < 0).sum())
    if negative:
        raise ValueError(f"sample_weight has {negative} negative value(s); weights must be 0 or more.")
    largest = float(weights.max(initial=0.0))
    if largest == 0.0:  # scikit-learn 1.6 lets them pass
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    if not _LIGHTEST <= largest <= _HEAVIEST:  # only their proportions matter
        weights = weights / largest
        largest = 1.0
    negligible = weights < _LIGHTEST * largest  # in float32 they would be 0
    return np.where(negligible, 0.0, weights) if negligible.any() else weights


def positive_label(classes: NDArray[Any], pos_label: Any) -> Any:
    """The class called positive: the second unless the user says otherwise."""
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes.tolist()}.")
    return pos_label


def announced_classes(classes: Any) -> NDArray[Any]:
    """The classes named in the first call of partial_fit."""
    if classes is None:
        raise ValueError(
            "The first call of partial_fit needs classes=: all labels that will ever occur, because the first "
            "rows may not show them all."
        )
    found = np.unique(np.asarray(classes))
    if found.size < 2:
        raise ValueError(f"classes={found.tolist()} names fewer than two classes: a classifier needs two.")
    return found


def require_same_classes(classes: Any, known: NDArray[Any]) -> None:
    """Refuse other classes in a later call of partial_fit than in the first."""
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes={np.unique(np.asarray(classes)).tolist()} differ from those of the first call, "
            f"{known.tolist()}."
        )


def require_known(found: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse labels that the first call of partial_fit did not name."""
    if not np.isin(found, classes).all():
        strangers = found[~np.isin(found, classes)].tolist()
        raise ValueError(
            f"y contains labels that partial_fit has not been told of: {strangers}; the classes are "
            f"{classes.tolist()}. Name all classes in the first call: partial_fit(X, y, classes=...)."
        )


def is_indicator(y: Any) -> bool:
    """Whether y has a column of 0 and 1 for each of several labels; other tables are refused."""
    if y is None:
        return False
    if not sparse.issparse(y):
        y = np.asarray(y)
        if y.ndim != 2 or y.shape[1] < 2:
            return False
    if type_of_target(y) == "multilabel-indicator":
        return True
    raise ValueError(
        f"y has shape {y.shape}, which is for labels that a row may have several of: a column per label, of 0 and "
        "1 only. For one class per row give y as one column."
    )


def require_no_positive(pos_label: Any, what: str) -> None:
    """Refuse ``pos_label`` where every class, or label, is the positive one in its turn."""
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes; with {what} each is the positive one in its turn. "
            "Leave it out."
        )


class TrainingSet(NamedTuple):
    """Rows of two classes."""

    checked: CheckedRows
    signed_weights: NDArray[Any]
    """The sample weight of each row, negative for the negative class; short integers where all weigh 1."""
    classes: NDArray[Any]
    groups: NDArray[np.intp] | None = None
    """Rows of one number stay together in the inner folds."""

    @property
    def X(self) -> Any:
        return self.checked.X


class ManyClassSet(NamedTuple):
    """Rows of many classes."""

    checked: CheckedRows
    codes: NDArray[np.intp]
    """The place of each row's class among the classes."""
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    groups: NDArray[np.intp] | None = None

    @property
    def X(self) -> Any:
        return self.checked.X

    def against_the_rest(self, code: int) -> TrainingSet:
        """One class as the positive one; ``classes`` are those of its own problem."""
        signed = np.where(self.codes == code, self.weights, -self.weights)
        return TrainingSet(self.checked, signed, np.array([False, True]), self.groups)


def training_set(
    checked: CheckedRows,
    labels: CheckedLabels,
    sample_weight: Any,
    *,
    pos_label: Any,
    classes: NDArray[Any] | None = None,
    groups: Any = None,
) -> TrainingSet:
    """Labels and weights checked against checked rows; rows of weight 0 are left out.

    ``classes`` are those announced to ``partial_fit``; None to find them in y, both of them.
    """
    y, found = labels
    if classes is None:
        classes = found
        require_two_classes(y, classes)
    else:
        require_known(found, classes)
    positive = positive_label(classes, pos_label)
    numbers = group_numbers(groups, checked.number)
    if sample_weight is None:
        signs = (y == positive) * np.int8(2) - np.int8(1)  # ten times as fast as np.where
        return TrainingSet(checked, signs, classes, numbers)
    weights = checked_weights(sample_weight, checked.X)
    signed = np.where(y == positive, weights, -weights)
    if not np.all(weights):
        kept = weights > 0
        checked, signed = checked.where(kept), signed[kept]
        numbers = None if numbers is None else numbers[kept]
    return TrainingSet(checked, signed, classes, numbers)


def many_class_set(
    checked: CheckedRows,
    labels: CheckedLabels,
    sample_weight: Any,
    *,
    classes: NDArray[Any] | None = None,
    groups: Any = None,
) -> ManyClassSet:
    """The same for any number of classes."""
    y, found = labels
    if classes is None:
        classes = found
        require_more_than_one_class(classes)
    else:
        require_known(found, classes)
    codes = np.searchsorted(classes, y)
    numbers = group_numbers(groups, checked.number)
    if sample_weight is None:
        return ManyClassSet(checked, codes, np.ones(codes.size), classes, numbers)
    weights = checked_weights(sample_weight, checked.X)
    if not np.all(weights):
        kept = weights > 0
        checked, codes, weights = checked.where(kept), codes[kept], weights[kept]
        numbers = None if numbers is None else numbers[kept]
    return ManyClassSet(checked, codes, weights, classes, numbers)


def group_numbers(groups: Any, n_rows: int) -> NDArray[np.intp] | None:
    """A number for the group of every row."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(groups, np.empty(n_rows))
    numbers: NDArray[np.intp] = np.unique(groups, return_inverse=True)[1].reshape(-1)
    if numbers.size and numbers.max() == 0:
        raise ValueError("groups holds one group only: some must be there to learn from and some to hold out.")
    return numbers


def with_mean_weight_one(rows: TrainingSet) -> TrainingSet:
    """Only the proportions of weights matter."""
    total = float(np.abs(rows.signed_weights).sum(dtype=np.float64))
    if total == 0:
        raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from.")
    if total == rows.signed_weights.size:
        return rows
    return rows._replace(signed_weights=rows.signed_weights * (rows.signed_weights.size / total))


def share_of_positives(rows: TrainingSet) -> float:
    positive, negative = class_totals(rows.signed_weights)
    return positive / (positive + negative)


def require_both_classes(rows: TrainingSet) -> None:
    if rows.signed_weights.min() >= 0 or rows.signed_weights.max() <= 0:
        raise ValueError("All rows of one class have sample_weight 0: a classifier needs rows of both classes.")


def indicator_array(y: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return an indicator matrix, dense or sparse, as an array."""
    dense = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if dense.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows in X, "
            f"{dense.shape[0]} rows of labels in y."
        )
    return dense.astype(bool)


def check_stream_arguments(stream: Any, passes: Any, checkpoint_every: Any) -> None:
    if passes != "auto" and (not isinstance(passes, Integral) or isinstance(passes, bool) or passes < 1):
        raise ValueError(f"passes must be 'auto' or a whole number above 0; got {passes!r}.")
    if not hasattr(stream, "windows"):
        raise TypeError(
            f"fit_stream takes what open_stream returns; got {type(stream).__name__}. Rows in memory: fit."
        )
    if checkpoint_every is not None and (not isinstance(checkpoint_every, Integral) or checkpoint_every < 1):
        raise ValueError(f"checkpoint_every must be a whole number above 0; got {checkpoint_every!r}.")


def require_once_enough(solver: Solver, checkpoint: Any) -> None:
    """Refuse what needs more than one reading of a stream that can be read only once."""
    if not solver.streaming:
        raise ValueError(
            f"{solver.label} needs all rows at once, and this stream can be read once only. Use solver='auto'."
        )
    if checkpoint is not None:
        raise ValueError(
            "A stream that can be read once only cannot be gone on with: leave out checkpoint=, or give the "
            "rows as files or as a list of batches."
        )
