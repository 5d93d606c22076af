"""Model files that are safe to open: saved and loaded with skops, which runs no code from a file.

A file holds what prediction and inspection need: the parameters, the coefficients, the classes, the measure, the
names of the columns and the encoder that turns them into numbers, and the version of the library. The state with
which ``partial_fit`` continues is left out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from sklearn.pipeline import Pipeline

from . import __version__, measures
from ._atomic import write_bytes
from ._sound import require_sound
from .estimators import MeasureClassifier, MeasureMaximizer, _ensemble
from .measures import FunctionMeasure, Measure, Rates, RatesInterval

FORMAT = "ratewise model"
FORMAT_VERSION = 1

# All measures of the library but FunctionMeasure, because a file cannot hold a function; and the rates.
_MEASURES = {
    kind.__name__: f"{kind.__module__}.{kind.__name__}"
    for kind in vars(measures).values()
    if isinstance(kind, type)
    and issubclass(kind, (Measure, Rates, RatesInterval))
    and not inspect.isabstract(kind)
    if kind is not FunctionMeasure
}

# The parts of a maximizer's ensemble, which are named tuples.
_ENSEMBLE = tuple(
    f"{kind.__module__}.{kind.__name__}"
    for kind in vars(_ensemble).values()
    if isinstance(kind, type) and issubclass(kind, tuple) and kind.__module__ == _ensemble.__name__
)

# The library's own classes, by the path under which a file names them. Nothing else is created from a file, except
# numbers, strings, lists, dicts, numpy arrays, and what the caller trusts.
OWN_TYPES = (
    *_MEASURES.values(),
    *_ENSEMBLE,
    "ratewise.estimators.maximizer.MeasureMaximizer",
    "ratewise.rewards.Hinge",
    "ratewise.rewards.Logistic",
    "ratewise.rewards.Sigmoid",
    "ratewise.solvers.amp.Amp",
    "ratewise.solvers.centroids.ShrunkenCentroids",
    "ratewise.solvers.logistic.PenalizedLogistic",
    "ratewise.solvers.logistic.WeightedLogistic",
    "ratewise.solvers.multiclass.MultinomialLogistic",
    "ratewise.solvers.sharpen.Sharpen",
    "ratewise.solvers.spade.Spade",
    "ratewise.solvers.stamp.Stamp",
    "ratewise.streams.encode.Encoder",
)

# Classes that have moved: the path in older files, and where the class is now. Measures are found by their names.
MOVED_TYPES = {
    "ratewise.solvers.batch.BatchLogistic": "ratewise.solvers.logistic.PenalizedLogistic",
    "ratewise.solvers.weighted.WeightedLogistic": "ratewise.solvers.logistic.WeightedLogistic",
    "ratewise.streams.files.encode.Encoder": "ratewise.streams.encode.Encoder",
}

# What else a file may hold, as skops writes it. Everything else that skops could create, functions above all, is
# refused before skops reads the file.
_PLAIN_TYPES = {
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple", _MEASURES["Rates"], _MEASURES["RatesInterval"], *_ENSEMBLE},
    "JsonNode": {"builtins.str"},
    "TypeNode": {"builtins.str"},
}

# What the steps of a pipeline hold besides, and how skops writes it.
_STEP_TYPES = ("numpy.dtype", "numpy.float64", "numpy.float32", "numpy.int64", "builtins.slice")
_STEP_LOADERS = {"DTypeNode", "TypeNode", "SliceNode", "TreeNode", "LossNode", "RandomGeneratorNode"}

_NO_ARCHIVE = "{name} is not a model file, or is damaged: it is no whole skops archive."

# What a file may unpack to. A schema of many categories packs to a 40th; an array of zeros to a 1000th.
_MOST_BYTES = 1 << 31
_SCHEMA_RATIO, _MOST_SCHEMA_BYTES = 100, 1 << 26
_UNPACKED_RATIO, _UNPACKED_BYTES = 20, 1 << 28

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
    "constraints_met_",
    "rates_interval_",
    "calibration_",
    "encoder_",
    "target_",
    "feature_spread_",
    "multilabel_",
)


def save_model(
    classifier: MeasureClassifier | MeasureMaximizer | Pipeline, path: str | os.PathLike[str] | BinaryIO
) -> None:
    """Write a fitted classifier to a file that :func:`load_model` reads, here or elsewhere.

    Parameters
    ----------
    classifier : MeasureClassifier, MeasureMaximizer, or a Pipeline that ends in one of them
        A fitted one. A measure of your own must be a class that can be imported; a plain function cannot be saved.
        What the other steps of a pipeline, or the maximizer's estimator, may be is skops' to say: scikit-learn's
        are, but for trees, which load with ``trusted``.
    path : path or binary file
        By convention it ends in .skops. The file is written completely or not at all.

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
    content = _content_of_any(classifier)
    try:
        data = require_skops().dumps(content, compression=zipfile.ZIP_DEFLATED)
    except ModuleNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"The model holds something that skops cannot save: {error}") from error
    write_bytes(path, data)


def load_model(path: str | os.PathLike[str] | BinaryIO, *, trusted: Sequence[type | str] = ()) -> Any:
    """Read a classifier that :func:`save_model` wrote. A malicious file is refused, and no code of it runs.

    Parameters
    ----------
    path : path or binary file
    trusted : sequence of classes or of their full names
        Classes of your own, such as a measure you wrote, that the file may hold besides the library's.

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
        audited = _audited(data, name, {*OWN_TYPES, *own})
        content = require_skops().loads(audited, trusted=[*OWN_TYPES, *_STEP_TYPES, *own])
        return _model_from(content, name)


def _bytes_of(file: Any, name: str) -> bytes:
    """Return all of a file that may be a model. What begins otherwise, /dev/zero for example, is not read."""
    content = bytearray()
    while part := file.read(1 << 20):
        content += part
        if content[:2] != b"PK"[: len(content)]:
            break
        if len(content) > _MOST_BYTES:
            raise ValueError(f"{name} is not a model file: it is larger than {_MOST_BYTES >> 30} GB.")
    if content[:2] != b"PK":
        raise ValueError(_NO_ARCHIVE.format(name=name))
    return bytes(content)


def _require_modest(archive: zipfile.ZipFile, file_bytes: int, name: str) -> None:
    """Refuse a file that says it unpacks to far more than it holds, before any of it is unpacked."""
    schema = archive.getinfo("schema.json")
    unpacked = sum(member.file_size for member in archive.infolist())
    if (
        schema.file_size > min((1 << 16) + _SCHEMA_RATIO * schema.compress_size, _MOST_SCHEMA_BYTES)
        or unpacked > _UNPACKED_BYTES + _UNPACKED_RATIO * file_bytes
    ):
        raise ValueError(f"{name} is refused: it would unpack to {unpacked:,} bytes, far more than a model takes.")


def _content_of_any(model: Any) -> dict[str, Any]:
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, Pipeline):
        steps = [[name, step] for name, step in model.steps[:-1]]
        return _header() | {"steps": steps, "last": [model.steps[-1][0], _content_of_any(model.steps[-1][1])]}
    if type(model) not in (MeasureClassifier, MeasureMaximizer):
        raise ValueError(
            "save_model saves a MeasureClassifier, a MeasureMaximizer or a Pipeline that ends in one of them; "
            f"got {type(model).__name__}."
        )
    check_is_fitted(model, "classes_")
    if isinstance(model.measure_, FunctionMeasure):
        raise ValueError(
            f"The measure {model.measure_.label!r} is a plain Python function, and a model file holds no "
            "code. To save the model, write the measure as a class: a frozen dataclass that derives from "
            "ratewise.measures.Measure, in a module that can be imported."
        )
    return _header() | {"maximizer": model} if isinstance(model, MeasureMaximizer) else _content_of(model)


def _header() -> dict[str, Any]:
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "ratewise_version": __version__}


def _content_of(classifier: MeasureClassifier) -> dict[str, Any]:
    parameters = classifier.get_params(deep=False)
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None  # a generator has been used: it would not give the same model again
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
    if "maximizer" in content:
        if type(content["maximizer"]) is not MeasureMaximizer:
            raise ValueError(f"{name} is damaged: its parts do not fit together. Save the model again.")
        return content["maximizer"]
    return _classifier_from(content, name)


def _classifier_from(content: Any, name: str) -> MeasureClassifier:
    parameters, fitted = content["parameters"], content["fitted"]
    classifier = MeasureClassifier(**{key: _checked_again(value) for key, value in parameters.items()})
    for attribute in (*_FITTED, *_OPTIONAL):
        if attribute in _FITTED or attribute in fitted:
            setattr(classifier, attribute, _checked_again(fitted[attribute]))
    classifier.multilabel_ = bool(getattr(classifier, "multilabel_", False))
    if content["feature_names"] is not None:
        classifier.feature_names_in_ = content["feature_names"].astype(object)
    if (survey := content["survey"]) is not None:
        from .streams import Survey

        counts = dict(zip(survey.pop("labels"), survey.pop("counts"), strict=True))
        classifier.survey_ = Survey(**survey, label_counts=counts)
    classifier.saved_by_ = content["ratewise_version"]
    require_sound(classifier, name)
    return classifier


def _checked_again(value: Any) -> Any:
    """Return a measure or solver created again, because one from a file has not run its own checks."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Bounds of earlier versions were kept by their margins, without a confidence.
        by_margin = hasattr(type(value), "confidence") and "confidence" not in vars(value)
        return dataclasses.replace(value, **({"confidence": None} if by_margin else {}))
    return value


def require_skops() -> Any:
    """Return the skops package, or raise with the pip line; call it before a long fit."""
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Model files need skops: pip install "ratewise[persistence]"', name="skops"
        ) from error
    return skops.io


def _audited(data: bytes, name: str, own: set[str]) -> bytes:
    """Return the file with moved classes under their present paths; refuse all that is neither plain nor trusted.

    Only the schema is read, which is plain JSON.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _require_modest(archive, len(data), name)
        schema = json.loads(archive.read("schema.json"))
        any_moved = False
        for node in _nodes(schema):
            if (present := _present_path(_path(node))) != _path(node):
                node["__module__"], node["__class__"] = present.rsplit(".", 1)
                any_moved = True
        steps = _step_paths(schema, data)
        untrusted = sorted({_path(node) for node in _nodes(schema) if not _is_trusted(node, own, steps)})
        if untrusted:
            raise ValueError(
                f"{name} holds {', '.join(untrusted)}, which ratewise does not trust; nothing was loaded. If you "
                f"wrote the class yourself and trust the file, pass trusted={untrusted!r} to load_model."
            )
        if not any_moved:
            return data
        renewed = io.BytesIO()
        with zipfile.ZipFile(renewed, "w") as copy:
            for member in dict.fromkeys(archive.namelist()):
                copy.writestr(member, json.dumps(schema) if member == "schema.json" else archive.read(member))
        return renewed.getvalue()


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects a schema describes, each as skops wrote it."""
    if isinstance(tree, dict) and "__loader__" in tree:
        yield tree
    if isinstance(tree, (dict, list)):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(child)


def _path(node: dict[str, Any]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _present_path(path: str) -> str:
    if path.startswith("ratewise.measures."):
        return _MEASURES.get(path.rpartition(".")[2], path)
    return MOVED_TYPES.get(path, path)


def _step_paths(schema: Any, data: bytes) -> set[str]:
    """Return the paths that a file with steps of a pipeline, or with an estimator, may hold besides ours.

    Skops itself says which estimators of scikit-learn are safe to make; functions are none of them.
    """
    if not {"steps", "maximizer"} & set(schema.get("content", ())):
        return set()
    estimators = {_path(node) for node in _nodes(schema) if _path(node).startswith("sklearn.")}
    return (estimators - set(require_skops().get_untrusted_types(data=data))) | set(_STEP_TYPES)


def _is_trusted(node: dict[str, Any], own: set[str], steps: set[str]) -> bool:
    loader, path = node["__loader__"], _path(node)
    if loader == "ObjectNode":
        return path in own or path in steps
    if steps and loader in _STEP_LOADERS and (path in own or path in steps):
        return True
    if loader == "NdArrayNode":
        return node.get("__module__") == "numpy"  # skops itself knows the array types
    return path in _PLAIN_TYPES.get(loader, ())


@contextlib.contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Turn whatever error a damaged file causes into one sentence."""
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
