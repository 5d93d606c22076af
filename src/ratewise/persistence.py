"""Model files that are safe to open: saved and loaded with skops, which runs no code from a file.

A file holds what prediction and inspection need: the parameters, the coefficients, the classes, the measure, the
names of the columns and the encoder that turns them into numbers, and the version of the library. The state with
which ``partial_fit`` continues is kept if it is asked for, as plain numbers and texts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from sklearn.pipeline import Pipeline

from . import __version__
from ._atomic import write_bytes
from ._model_checks import require_sound, require_sound_encoders
from ._trusted_types import MOST_BYTES, OWN_TYPES, STEP_TYPES, WHOLE_MODELS, audited, require_skops
from .estimators import MeasureClassifier, MeasureMaximizer
from .estimators._online import OnlineClassifier
from .estimators.decision_rule import DecisionRule
from .measures import (
    ConstrainedClasses,
    FunctionMeasure,
    FunctionOfCounts,
    MacroAverage,
    Measure,
)

FORMAT = "ratewise model"
FORMAT_VERSION = 1

_NO_ARCHIVE = "{name} is not a model file, or is damaged: it is not a complete skops archive."

_FITTED = (
    "coef_",
    "intercept_",
    "classes_",
    "n_features_in_",
    "measure_",
    "solver_",
    "rates_",
    "stages_",
    "history_",
)
_OPTIONAL = (
    "basis_",
    "constraints_met_",
    "rates_interval_",
    "calibration_",
    "confusion_",
    "encoder_",
    "target_",
    "feature_mean_",
    "feature_spread_",
    "multilabel_",
    "n_samples_fit_",
    "groups_",
    "group_rates_",
    "group_intervals_",
    "group_thresholds_",
    "sensitive_column_",
    "fitted_to_costs_",
    "cost_columns_",
    "_positive_code",
)


def save_model(
    classifier: MeasureClassifier | MeasureMaximizer | DecisionRule | Pipeline,
    path: str | os.PathLike[str] | BinaryIO,
    *,
    state: bool = False,
) -> None:
    """Write a fitted classifier to a file that :func:`load_model` reads, here or elsewhere.

    Parameters
    ----------
    classifier : MeasureClassifier, MeasureMaximizer, DecisionRule, or a Pipeline that ends in one of them
        It must be fitted. A measure of your own must be a class that can be imported; a function cannot be saved.
        skops decides which other steps of a pipeline, and which estimators of a maximizer, are allowed. Linear
        models, naive Bayes and the usual transformers load without further arguments. Other estimators (trees,
        ``SVC``) need ``trusted``.
    path : path or binary file
        By convention it ends in .skops. The file is written completely or not at all.
    state : bool, default=False
        Whether to keep the state that ``partial_fit`` needs to continue bit for bit, including some of the rows.
        For a classifier that learns from a stream; the same version of ratewise must load the file.

    Examples
    --------
    >>> import io
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier, load_model, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X, y)
    >>> file = io.BytesIO()
    >>> save_model(classifier, file)
    >>> _ = file.seek(0)
    >>> bool((load_model(file).predict(X) == classifier.predict(X)).all())
    True
    """
    content = _content_of_any(classifier, state=state)
    try:
        data = require_skops().dumps(content, compression=zipfile.ZIP_DEFLATED)
    except ModuleNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"The model holds something that skops cannot save: {error}") from error
    write_bytes(path, data)


def load_model(path: str | os.PathLike[str] | BinaryIO, *, trusted: Sequence[type | str] = ()) -> Any:
    """Read a classifier that :func:`save_model` wrote. A malicious file is refused, and none of its code runs.

    Parameters
    ----------
    path : path or binary file
    trusted : sequence of classes or of their full names
        Classes of your own, such as a measure you wrote, that the file may hold besides the library's classes; and
        estimators of scikit-learn whose compiled code uses the file's arrays as addresses, such as ``SVC``.
        SECURITY.md lists the estimators that need no trust. A file with a trusted class can do everything that the
        class can do.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model of ratewise, or holds anything that is not trusted.

    Examples
    --------
    >>> import io
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier, load_model, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X, y)
    >>> file = io.BytesIO()
    >>> save_model(classifier, file)
    >>> _ = file.seek(0)
    >>> bool((load_model(file).predict(X) == classifier.predict(X)).all())
    True
    """
    name = "The model" if hasattr(path, "read") else os.fspath(path)
    if hasattr(path, "read"):
        data = _bytes_of(path, name)
    else:
        with open(path, "rb") as file:
            data = _bytes_of(file, name)
    own = [one if isinstance(one, str) else f"{one.__module__}.{one.__name__}" for one in trusted]
    with _clear_errors(name):
        sound = audited(data, name, set(own))
        content = require_skops().loads(sound, trusted=[*OWN_TYPES, *STEP_TYPES, *own])
        if not any(path.endswith(".OneHotEncoder") for path in own):
            require_sound_encoders(content, name)
        return _model_from(content, name)


def _bytes_of(file: Any, name: str) -> bytes:
    """Return the content of a file that may be a model. Other files, /dev/zero for example, are not read."""
    content = bytearray()
    while part := file.read(1 << 20):
        content += part
        if content[:2] != b"PK"[: len(content)]:
            break
        if len(content) > MOST_BYTES:
            raise ValueError(f"{name} is not a model file: it is larger than {MOST_BYTES >> 30} GB.")
    if content[:2] != b"PK":
        raise ValueError(_NO_ARCHIVE.format(name=name))
    return bytes(content)


def _content_of_any(model: Any, *, state: bool = False) -> dict[str, Any]:
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, Pipeline):
        steps = [[name, step] for name, step in model.steps[:-1]]
        last = _content_of_any(model.steps[-1][1], state=state)
        return _header() | {"steps": steps, "last": [model.steps[-1][0], last]}
    if type(model) not in (MeasureClassifier, MeasureMaximizer, DecisionRule):
        raise ValueError(
            "save_model saves a MeasureClassifier, a MeasureMaximizer, a DecisionRule or a Pipeline that ends in "
            f"one of them; got {type(model).__name__}."
        )
    check_is_fitted(model, "classes_")
    if isinstance(getattr(model.measure_, "measure", model.measure_), FunctionMeasure | FunctionOfCounts):
        raise ValueError(
            f"The measure {model.measure_.label!r} is a plain Python function, and a model file holds no "
            "code. To save the model, write the measure as a class: a frozen dataclass that derives from "
            "ratewise.measures.Measure or ConfusionMeasure, in a module that can be imported."
        )
    if isinstance(model, (MeasureMaximizer, DecisionRule)):
        return _header() | {WHOLE_MODELS[type(model)]: model} | _state_of(model, asked=state)
    return _content_of(model) | _state_of(model, asked=state)


def _state_of(model: Any, *, asked: bool) -> dict[str, Any]:
    """Return the state with which partial_fit continues, if it is requested."""
    if not asked:
        return {}
    online = getattr(model, "_online", None)
    if online is None:
        raise ValueError(
            "There is no state to save: the model was not learning by partial_fit. Leave out state=True."
        )
    try:
        return {"state": online.to_plain()}
    except TypeError as error:
        raise ValueError(f"{error}: save the model without state=True.") from error


# The attributes that a file holds unchanged, and their names there.
def _header() -> dict[str, Any]:
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "ratewise_version": __version__}


def _content_of(classifier: MeasureClassifier) -> dict[str, Any]:
    parameters = classifier.get_params(deep=False)
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None  # a used generator would not give the same model again
    if not isinstance(parameters["cv"], (int, np.integer, type(None))):
        parameters["cv"] = None  # the splits of a splitter belong to rows that are not in the file
    fitted = {name: getattr(classifier, name) for name in (*_FITTED, *_OPTIONAL) if hasattr(classifier, name)}
    names = getattr(classifier, "feature_names_in_", None)
    survey = None
    if hasattr(classifier, "survey_"):
        survey = classifier.survey_._asdict()
        counts = survey.pop("label_counts")  # two lists, because keys of a dict in a file are strings
        survey |= {"labels": list(counts), "counts": [int(count) for count in counts.values()]}
    return _header() | {
        "parameters": parameters,
        "fitted": fitted,
        # One array of strings: as objects, each of a million names would take some lines of the file.
        "feature_names": None if names is None else np.asarray(names, dtype=str),
        "survey": survey,
    }


def _model_from(content: Any, name: str) -> Any:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{name} is a skops file, but not a model saved by ratewise.")
    if content["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"{name} was saved by ratewise {content['ratewise_version']} in format {content['format_version']}; "
            f"this is ratewise {__version__}, which reads format {FORMAT_VERSION}. Update ratewise: "
            "pip install --upgrade ratewise"
        )
    if "steps" in content:
        label, last = content["last"]
        return Pipeline([*((one, step) for one, step in content["steps"]), (label, _model_from(last, name))])
    for kind, key in WHOLE_MODELS.items():
        if key in content:
            if type(content[key]) is not kind:
                raise ValueError(f"{name} is damaged: its parts do not fit together. Save the model again.")
            return content[key]
    return _classifier_from(content, name)


def _classifier_from(content: Any, name: str) -> MeasureClassifier:
    parameters, fitted = content["parameters"], content["fitted"]
    classifier = MeasureClassifier(**{key: _checked_again(value) for key, value in parameters.items()})
    for attribute in (*_FITTED, *_OPTIONAL):
        if attribute in _FITTED or attribute in fitted:
            setattr(classifier, attribute, _checked_again(fitted[attribute]))
    classifier.basis_ = getattr(classifier, "basis_", None)
    classifier.multilabel_ = bool(getattr(classifier, "multilabel_", False))
    if classifier.classes_.size > 2 and not classifier.multilabel_ and isinstance(classifier.measure_, Measure):
        classifier.measure_ = MacroAverage(classifier.measure_)  # as in earlier versions
    if content["feature_names"] is not None:
        classifier.feature_names_in_ = content["feature_names"].astype(object)
    if (survey := content["survey"]) is not None:
        from .streams import FileSurvey

        counts = dict(zip(survey.pop("labels"), survey.pop("counts"), strict=True))
        classifier.survey_ = FileSurvey(**survey, label_counts=counts)
    classifier.saved_by_ = content["ratewise_version"]
    require_sound(classifier, name)
    if "state" in content:
        if classifier.saved_by_ != __version__:
            raise ValueError(
                f"{name} holds the state of a stream, saved by ratewise {classifier.saved_by_}, and this is "
                f"{__version__}: load it there, and save it without state=True."
            )
        classifier._online = OnlineClassifier.from_plain(content["state"], classifier)
    return classifier


def _checked_again(value: Any) -> Any:
    """Create a measure or solver from a file a second time, so that its own checks run."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Bounds of earlier versions were kept by their margins, without a confidence.
        by_margin = hasattr(type(value), "confidence") and "confidence" not in vars(value)
        nested = getattr(value, "measure", None) if isinstance(value, (MacroAverage, ConstrainedClasses)) else None
        parts = {} if nested is None else {"measure": _checked_again(nested)}
        return dataclasses.replace(value, **parts, **({"confidence": None} if by_margin else {}))
    return value


@contextlib.contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Turn any error that a damaged file causes into one sentence."""
    try:
        yield
    except zipfile.BadZipFile as error:
        raise ValueError(_NO_ARCHIVE.format(name=name)) from error
    except (ValueError, MemoryError) as error:
        if str(error).startswith(name):
            raise
        raise ValueError(f"{name} is damaged: {error}") from error
    except ModuleNotFoundError as error:
        if error.name == "skops":
            raise
        raise ValueError(f"{name} needs the module {error.name!r}, which cannot be found.") from error
    except Exception as error:
        raise ValueError(f"{name} is damaged or not a model saved by ratewise ({error!r}).") from error
