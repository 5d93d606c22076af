"""Whether the parts of a model that was read from a file fit together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .estimators import MeasureClassifier
from .measures import Measure, Rates, RatesInterval, get_measure
from .streams.columns import BOOLEAN, CATEGORY, DATE
from .streams.encode import Encoder


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
    names, spread, encoder = (
        getattr(classifier, attribute, None) for attribute in ("feature_names_in_", "feature_spread_", "encoder_")
    )
    width = n_features
    if classifier.encode is not None and isinstance(encoder, Encoder) and encoder.n_columns == n_features:
        width = encoder.n_features  # the columns of the table are others than those of the model
    sound = (
        isinstance(get_measure(classifier.measure), Measure)
        and isinstance(classifier.measure_, Measure)
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
        and isinstance(getattr(classifier, "constraints_met_", True), bool)
        and isinstance(getattr(classifier, "target_", None), (str, type(None)))
        and (spread is None or _is_array(spread, (width,)))
        and (encoder is None or _is_sound_encoder(encoder, width))
    )
    if not sound:
        raise ValueError(f"{name} is damaged: its parts do not fit together. Save the model again.")


def _is_array(value: Any, shape: tuple[int, ...]) -> bool:
    right = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape
    return right and bool(np.isfinite(value).all())


def _are_rates(value: Any) -> bool:
    return isinstance(value, Rates) and all(isinstance(one, float) and -1e-9 <= one <= 1.0 + 1e-9 for one in value)


def _is_interval(value: Any) -> bool:
    found: list[Any] = list(value) if isinstance(value, RatesInterval) else [None]
    numbers = [found.pop(), *(end for pair in found if isinstance(pair, tuple) and len(pair) == 2 for end in pair)]
    return len(numbers) == 1 + 2 * len(found) and all(isinstance(number, float) for number in numbers)


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


def _is_sound_encoder(encoder: Any, n_features: int) -> bool:
    """Return whether an encoder makes rows for this model; its attributes are of the types that a new one has."""
    if not isinstance(encoder, Encoder):
        return False
    new = {name: value for name, value in vars(Encoder(0)).items() if isinstance(value, (bool, int, list, dict))}
    typed = all(isinstance(vars(encoder).get(name, value), type(value)) for name, value in new.items())
    names = encoder._names if encoder.named else []
    listed = [encoder._names, encoder.missing_levels, *encoder.vocabularies.values()]
    return (
        typed
        and (_is_array(encoder.means, (encoder.n_columns,)) or _is_array(encoder.means, (0,)))
        and {*encoder.kinds.values()} <= {BOOLEAN, CATEGORY, DATE}
        and all(isinstance(number, float) for number in encoder.centres.values())
        and encoder.n_features == n_features
        and not (encoder.named and encoder.sparse_input)
        and (not encoder.named or len(names) == encoder.n_columns)
        and all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in listed)
        and all(isinstance(number, int) and number > 0 for number in encoder.buckets.values())
    )
