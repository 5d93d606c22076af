"""Check that the parts of a model from a file fit together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

from .estimators import MeasureClassifier
from .features.encode import Encoder
from .features.splines import Basis
from .measures import ConfusionMeasure, ConstrainedClasses, Measure, Rates, RatesInterval, one_vs_rest_measure


def require_sound(classifier: MeasureClassifier, name: str) -> None:
    """Refuse a classifier whose attributes are not of the types and shapes that a fit gives them."""
    n_features = classifier.n_features_in_
    classes = classifier.classes_
    n_classes = classes.size if isinstance(classes, np.ndarray) and classes.ndim == 1 else 0
    distinct = n_classes >= 2 and np.unique(classes).size == n_classes
    two = n_classes == 2 and not classifier.multilabel_
    n_models = 1 if two else n_classes
    rates, intervals = (
        [classifier.rates_] if two else classifier.rates_,
        getattr(classifier, "rates_interval_", None),
    )
    names, mean, spread, encoder = (
        getattr(classifier, attribute, None)
        for attribute in ("feature_names_in_", "feature_mean_", "feature_spread_", "encoder_")
    )
    width, confusion = n_features, getattr(classifier, "confusion_", None)
    if classifier.encode is not None and isinstance(encoder, Encoder) and encoder.n_columns == n_features:
        width = encoder.n_features  # the columns of the table differ from those of the model
    basis, columns = classifier.basis_, width
    if basis is not None:
        width = basis.width if isinstance(basis, Basis) and basis.n_columns == columns else -1
    sound = (
        isinstance(one_vs_rest_measure(classifier.measure), Measure)
        and _is_measure(classifier.measure_, of_many=not (two or classifier.multilabel_))
        and (confusion is None or (not two and _is_array(confusion, (n_classes, n_classes))))
        and distinct
        and _is_array(classifier.coef_, (n_models, width))
        and _is_array(classifier.intercept_, (n_models,))
        and (isinstance(rates, list) and len(rates) == n_models and all(map(_are_rates, rates)))
        and (names is None or names.shape == (n_features,))
        and _is_calibration(getattr(classifier, "calibration_", np.zeros((n_models, 2))), n_models)
        and (intervals is None or all(map(_is_interval, [intervals] if two else intervals)))
        and _is_survey(getattr(classifier, "survey_", None))
        and dataclasses.is_dataclass(classifier.solver_)
        and _is_text(classifier.stages_)
        and _is_table(classifier.history_)
        and isinstance(getattr(classifier, "constraints_met_", None), (bool, type(None)))
        and isinstance(getattr(classifier, "n_samples_fit_", 1), int)
        and getattr(classifier, "_positive_code", None) in ((0, 1, None) if two else (None,))
        and isinstance(getattr(classifier, "target_", None), (str, type(None)))
        and (spread is None or _is_array(spread, (width,)))
        and (mean is None or _is_array(mean, (columns,)))
        and (encoder is None or (isinstance(encoder, Encoder) and encoder.is_sound(columns)))
        and _are_costs(classifier, two=two)
    )
    if not sound:
        raise ValueError(f"{name} is damaged: its parts do not fit together. Save the model again.")


def require_sound_encoders(content: Any, name: str) -> None:
    """Refuse a OneHotEncoder, anywhere in a file, whose sparse rows could have indices outside of their shape."""
    path = f"{OneHotEncoder.__module__}.{OneHotEncoder.__name__}"
    for part in _parts(content, set()):
        if isinstance(part, OneHotEncoder) and not _is_sound_one_hot(part):
            raise ValueError(
                f"{name} holds a OneHotEncoder that does not fit together, or that groups rare categories, which "
                f"cannot be checked. If you trust the author of the file, pass trusted=[{path!r}] to load_model."
            )


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield an object from a file and all objects that it contains, each once."""
    if id(value) in seen or isinstance(value, (str, int, float, type(None), type)):
        return
    seen.add(id(value))
    yield value
    inner: list[Any] = list(getattr(value, "__dict__", {}).values())
    if isinstance(value, dict):
        inner += value.values()
    elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        inner += list(value)
    for one in inner:
        yield from _parts(one, seen)


def _is_sound_one_hot(encoder: OneHotEncoder) -> bool:
    """Return whether every category has its own column: codes of values are below the number of columns."""
    fitted = vars(encoder)
    if "categories_" not in fitted:
        return True  # a parameter, not fitted
    categories, outs = fitted["categories_"], fitted.get("_n_features_outs")
    dropped = fitted.get("_drop_idx_after_grouping")
    dropped = [None] * len(categories) if dropped is None else list(dropped)
    lists = (
        isinstance(categories, list) and isinstance(outs, list) and len(categories) == len(outs) == len(dropped)
    )
    return (
        lists
        and not fitted.get("_infrequent_enabled", False)
        and all(isinstance(one, np.ndarray) and one.ndim == 1 and _is_ordered(one) for one in categories)
        and all(drop is None or 0 <= drop < one.size for one, drop in zip(categories, dropped, strict=True))
        and outs == [one.size - (drop is not None) for one, drop in zip(categories, dropped, strict=True)]
    )


def _is_ordered(categories: NDArray[Any]) -> bool:
    """Return whether numbers increase, with a NaN last: bisection finds their codes; a dict has those of texts."""
    if categories.dtype.kind not in "biuf":
        return categories.dtype.kind in "OUS"
    numbers = categories[:-1] if categories.size and np.isnan(categories[-1]) else categories
    return bool(np.all(numbers[:-1] < numbers[1:]))


def _is_measure(value: Any, *, of_many: bool) -> bool:
    if not of_many:
        return isinstance(value, Measure)
    if isinstance(value, ConstrainedClasses):
        return _is_measure(value.measure, of_many=True)
    return isinstance(value, ConfusionMeasure) and isinstance(getattr(value, "measure", None), Measure | None)


def _is_array(value: Any, shape: tuple[int, ...]) -> bool:
    right = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape
    return right and bool(np.isfinite(value).all())


def _are_rates(value: Any) -> bool:
    return isinstance(value, Rates) and all(isinstance(one, float) and -1e-9 <= one <= 1.0 + 1e-9 for one in value)


def _is_interval(value: Any) -> bool:
    found: list[Any] = list(value) if isinstance(value, RatesInterval) else [None]
    numbers = [found.pop(), *(end for pair in found if isinstance(pair, tuple) and len(pair) == 2 for end in pair)]
    return len(numbers) == 1 + 2 * len(found) and all(isinstance(number, float) for number in numbers)


def _are_costs(classifier: MeasureClassifier, *, two: bool) -> bool:
    """Return whether a model's attributes for costs per row have the form that a fit stores."""
    fitted, columns = getattr(classifier, "fitted_to_costs_", False), getattr(classifier, "cost_columns_", {})
    kinds_and_costs = isinstance(columns, dict) and all(
        isinstance(kind, str) and isinstance(cost, str | int | float) for kind, cost in columns.items()
    )
    return isinstance(fitted, bool) and (two or not fitted) and kinds_and_costs


def _is_survey(value: Any) -> bool:
    if value is None:
        return True
    counts = (value.label_counts, value.missing, value.hashed, value.categories)
    numbers = [value.rows, *(number for one in counts if isinstance(one, dict) for number in one.values())]
    return all(isinstance(one, dict) for one in counts) and all(isinstance(one, int) for one in numbers)


def _is_calibration(value: Any, n_models: int) -> bool:
    width = value.shape[-1] if isinstance(value, np.ndarray) and value.ndim else 0
    return width >= 2 and width % 2 == 0 and _is_array(value, (n_models, width))


def _is_text(value: Any) -> bool:
    """Return whether these are stages: strings in tuples or lists, of several models in lists of those."""
    return isinstance(value, str) or (isinstance(value, (tuple, list)) and all(map(_is_text, value)))


def _is_table(value: Any) -> bool:
    columns: list[Any] = list(value.values()) if isinstance(value, dict) else [None]
    arrays = all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns)
    return arrays and len({column.size for column in columns}) <= 1
