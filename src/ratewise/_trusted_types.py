"""The types that a model file may contain, and the checks before skops reads it.

Only the schema of a file is read here, which is plain JSON. Nothing of it is created.
"""

from __future__ import annotations

import inspect
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from . import measures
from .estimators import MeasureMaximizer, _ensemble, _stack
from .estimators.decision_rule import DecisionRule
from .features.codecs import CODECS
from .measures import ConfusionMeasure, FunctionMeasure, FunctionOfCounts, Measure, Rates, RatesInterval

# All measures of the library except for functions, which a file cannot contain; and the rates.
_MEASURES = {
    kind.__name__: f"{kind.__module__}.{kind.__name__}"
    for kind in vars(measures).values()
    if isinstance(kind, type)
    and issubclass(kind, (Measure, ConfusionMeasure, Rates, RatesInterval))
    and not inspect.isabstract(kind)
    if kind not in (FunctionMeasure, FunctionOfCounts)
}

# The parts of a maximizer's ensemble, which are named tuples.
_ENSEMBLE = tuple(
    f"{kind.__module__}.{kind.__name__}"
    for part in (_ensemble, _stack)
    for kind in vars(part).values()
    if isinstance(kind, type) and issubclass(kind, tuple) and kind.__module__ == part.__name__
)

# The parts of a decision rule, and of an ensemble that has one, that are named tuples.
_RULE = (
    "ratewise.decisions.offsets.ClassGains",
    "ratewise.decisions.costs.Spent",
    "ratewise.estimators._maximizer_classes.ClassMember",
)

# The library's own classes, by the path under which a file names them. Nothing else is created from a file, except
# numbers, strings, lists, dicts, numpy arrays, and what the caller trusts.
OWN_TYPES = (
    *_MEASURES.values(),
    *_ENSEMBLE,
    *_RULE,
    "ratewise.counts.Counts",
    "ratewise.estimators.decision_rule.DecisionRule",
    "ratewise.estimators.maximizer.MeasureMaximizer",
    "ratewise.features.splines.Basis",
    "ratewise.features.splines.Hinges",
    "ratewise.features.splines.Indicators",
    "ratewise.features.splines.Products",
    "ratewise.features.transformer.SplineBasis",
    "ratewise.rewards.Hinge",
    "ratewise.rewards.Logistic",
    "ratewise.rewards.Sigmoid",
    "ratewise.solvers.amp.Amp",
    "ratewise.solvers.centroids.ShrunkenCentroids",
    "ratewise.solvers.logistic.PenalizedLogistic",
    "ratewise.solvers.logistic.WeightedLogistic",
    "ratewise.solvers.softmax.MultinomialLogistic",
    "ratewise.solvers.sharpen.Sharpen",
    "ratewise.solvers.spade.Spade",
    "ratewise.solvers.stamp.Stamp",
    "ratewise.features.encode.Encoder",
    *(f"{codec.__module__}.{codec.__name__}" for codec in CODECS),
)

# Classes that have moved: the path in older files, and where the class is now. Measures are found by their names.
MOVED_TYPES = {
    "ratewise.solvers.batch.BatchLogistic": "ratewise.solvers.logistic.PenalizedLogistic",
    "ratewise.solvers.weighted.WeightedLogistic": "ratewise.solvers.logistic.WeightedLogistic",
    "ratewise.streams.encode.Encoder": "ratewise.features.encode.Encoder",
    "ratewise.streams.files.encode.Encoder": "ratewise.features.encode.Encoder",
}

# What else a file may hold, as skops writes it. Everything else that skops could create, functions above all, is
# refused before skops reads the file.
_PLAIN_TYPES = {
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple", _MEASURES["Rates"], _MEASURES["RatesInterval"], *_ENSEMBLE, *_RULE},
    "JsonNode": {"builtins.str"},
    "TypeNode": {"builtins.str"},
}

# What the steps of a pipeline hold besides, and how skops writes it.
STEP_TYPES = ("numpy.dtype", "numpy.float64", "numpy.float32", "numpy.int64", "builtins.slice")

# The estimators of scikit-learn that need no trust: their predictions and transforms are numpy's, which checks
# every index, whatever arrays a file gives them. (OneHotEncoder writes sparse rows; its arrays are checked.) The
# compiled loops of others, those of SVC for one, read where the arrays of the file say. Those of trees read from a
# Tree or a TreePredictor, which skops leaves to be trusted.
_CHECKED_ESTIMATORS = {
    "Pipeline",
    "ColumnTransformer",
    "FeatureUnion",
    "FunctionTransformer",
    "StandardScaler",
    "MinMaxScaler",
    "MaxAbsScaler",
    "RobustScaler",
    "PowerTransformer",
    "QuantileTransformer",
    "Normalizer",
    "Binarizer",
    "KBinsDiscretizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "LabelBinarizer",
    "LabelEncoder",
    "PolynomialFeatures",
    "SimpleImputer",
    "MissingIndicator",
    "PCA",
    "TruncatedSVD",
    "VarianceThreshold",
    "SelectKBest",
    "SelectPercentile",
    "SelectFromModel",
    "LogisticRegression",
    "LogisticRegressionCV",
    "SGDClassifier",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "Perceptron",
    "PassiveAggressiveClassifier",
    "LinearSVC",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "GaussianNB",
    "MultinomialNB",
    "ComplementNB",
    "BernoulliNB",
    "MLPClassifier",
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "HistGradientBoostingClassifier",
    "_BinMapper",
    "HalfBinomialLoss",
    "LogitLink",
    "Interval",
}
_LOSSES = ("sklearn._loss.", "sklearn.linear_model._sgd_fast.")  # no prediction uses them
_STEP_LOADERS = {"DTypeNode", "TypeNode", "SliceNode", "TreeNode", "LossNode", "RandomGeneratorNode"}

# The largest unpacked sizes. A schema of many categories packs to a 40th; an array of zeros to a 1000th.
MOST_BYTES = 1 << 31
_SCHEMA_RATIO, _MOST_SCHEMA_BYTES = 100, 1 << 26
_UNPACKED_RATIO, _UNPACKED_BYTES = 20, 1 << 28

WHOLE_MODELS: dict[type, str] = {MeasureMaximizer: "maximizer", DecisionRule: "rule"}


def audited(data: bytes, name: str, trusted: set[str]) -> bytes:
    """Return the file with current paths for moved classes; refuse objects that are neither plain nor trusted.

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
        untrusted = sorted({_path(node) for node in _nodes(schema) if not _is_trusted(node, trusted, steps)})
        if untrusted:
            raise ValueError(
                f"{name} holds {', '.join(untrusted)}, which ratewise does not trust; nothing was loaded. If you "
                f"trust the author of the file, pass trusted={untrusted!r} to load_model."
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
    """Return the paths, besides the library's, that a file with pipeline steps or an estimator may contain.

    Skops defines which estimators of scikit-learn are safe to create; functions are not among them. Of these, the
    estimators that are also safe to predict with need no trust.
    """
    if not {"steps", *WHOLE_MODELS.values()} & set(schema.get("content", ())):
        return set()
    paths = {_path(node) for node in _nodes(schema)}
    estimators = {
        path
        for path in paths
        if (path.startswith("sklearn.") and path.rpartition(".")[2] in _CHECKED_ESTIMATORS)
        or path.startswith(_LOSSES)
    }
    return (estimators - set(require_skops().get_untrusted_types(data=data))) | set(STEP_TYPES)


def _is_trusted(node: dict[str, Any], trusted: set[str], steps: set[str]) -> bool:
    loader, path = node["__loader__"], _path(node)
    if path in trusted:  # by the user, whichever way skops makes it: boosters hold bytes and dicts of their own
        return True
    if loader == "ObjectNode":
        return path in OWN_TYPES or path in steps
    if steps and loader in _STEP_LOADERS and (path in OWN_TYPES or path in steps):
        return True
    if loader == "NdArrayNode":
        return node.get("__module__") == "numpy"  # skops itself knows the array types
    return path in _PLAIN_TYPES.get(loader, ())


def _require_modest(archive: zipfile.ZipFile, file_bytes: int, name: str) -> None:
    """Refuse a file whose declared unpacked size is far above its packed size, before anything is unpacked."""
    schema = archive.getinfo("schema.json")
    unpacked = sum(member.file_size for member in archive.infolist())
    if (
        schema.file_size > min((1 << 16) + _SCHEMA_RATIO * schema.compress_size, _MOST_SCHEMA_BYTES)
        or unpacked > _UNPACKED_BYTES + _UNPACKED_RATIO * file_bytes
    ):
        raise ValueError(f"{name} is refused: it would unpack to {unpacked:,} bytes, far more than a model takes.")


def require_skops() -> Any:
    """Return the skops package, or raise an error with the pip command; call this before a long fit."""
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Model files need skops: pip install "ratewise[persistence]"', name="skops"
        ) from error
    return skops.io
