"""Export of models as ONNX graphs, for programs without Python.

The converter is skl2onnx's own for linear classifiers, in double precision, so that labels agree with ``predict``
row by row. (In single precision, the default there, rows near the boundary change sides.)
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ._atomic import write_bytes
from .decisions.calibrate import Calibration
from .estimators import MeasureClassifier, MeasureMaximizer
from .estimators._targets import fitted_positive
from .features.splines import FAR, NEAR, Basis


def export_onnx(
    classifier: MeasureClassifier | MeasureMaximizer | Pipeline, path: str | os.PathLike[str] | BinaryIO
) -> None:
    """Write a fitted classifier as an ONNX file.

    The graph takes ``X``, rows of doubles in the order of the columns of the fit, and returns ``label``, ``score``
    (above 0 for ``classes_[1]``; with more classes, a column for each) and ``probability`` (a column per class, as
    ``predict_proba``; not for a maximizer, or for models saved before ratewise calibrated scores). A model made
    from files with text columns takes the encoded columns; the metadata name them, under ``feature_names``.

    A model that fills gaps fills them in the graph too. If ``predict`` raises an error for NaN or infinity, a run
    of the graph also ends with an error.

    Parameters
    ----------
    classifier : MeasureClassifier, MeasureMaximizer, or a Pipeline that ends in one of them
        It must be fitted to rows of numbers. skl2onnx must know the other steps and the maximizer's estimator,
        whose scores must be probabilities or linear; boosting cannot be exported. A graph with a step that
        onnxruntime has in single precision only, such as ``SimpleImputer``, takes floats. For a pipeline that
        takes tables with texts, call :func:`register_converter` and then skl2onnx, with the type of each column.
    path : path or binary file
        The file is written completely or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier, export_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(classifier, Path(folder) / "model.onnx")
    ...     (Path(folder) / "model.onnx").stat().st_size > 0
    True
    """
    from sklearn.utils.validation import check_is_fitted

    from . import __version__

    _skl2onnx()
    last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
    if not isinstance(last, (MeasureClassifier, MeasureMaximizer)):
        raise ValueError(
            "export_onnx exports a MeasureClassifier, a MeasureMaximizer or a Pipeline that ends in one of them; "
            f"got {type(last).__name__}."
        )
    if getattr(last, "rule_", None) is not None or getattr(last, "fitted_to_costs_", False):
        raise ValueError(
            "export_onnx exports no decision rule, which many classes and costs have: use save_model instead."
        )
    check_is_fitted(last, "classes_")
    if hasattr(last, "group_thresholds_"):
        raise ValueError(
            "A model with a threshold for each group cannot be exported to ONNX, whose graph has the columns "
            "only: fit it with group_cuts=False."
        )
    if getattr(last, "multilabel_", False):
        raise ValueError("A model of several labels cannot be exported to ONNX: fit one classifier per label.")
    register_converter()
    width = _width_in(last) if last is classifier and hasattr(last, "coef_") else classifier.n_features_in_
    graph = _converted(classifier, width)
    metadata = {
        "ratewise_version": __version__,
        "measure": last.measure_.label,
        "feature_names": json.dumps(_column_names(classifier)),
    }
    for key, value in metadata.items():
        graph.metadata_props.add(key=key, value=value)
    write_bytes(path, graph.SerializeToString())


def _converted(model: Any, width: int) -> Any:
    """Return the graph of a model with this number of columns: in doubles, or in floats if it needs floats."""
    skl2onnx = _skl2onnx()
    types = skl2onnx.common.data_types
    if isinstance(model, MeasureClassifier):
        return skl2onnx.convert_sklearn(model, "ratewise", [("X", types.DoubleTensorType([None, width]))])
    _needed("onnxruntime")
    for kind in (types.DoubleTensorType, types.FloatTensorType):
        try:
            graph = skl2onnx.convert_sklearn(model, "ratewise", [("X", kind([None, width]))])
            _require_runs(graph)
            return graph
        except Exception as error:  # of any kind: other libraries register converters
            problem = error
    raise ValueError(
        f"This {type(model).__name__} cannot be exported to ONNX: {_first_line(problem)}"
    ) from problem


def _require_runs(graph: Any) -> None:
    """Raise the runtime's error if it lacks an operation of the graph."""
    import onnxruntime

    onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _column_names(model: Any) -> list[str]:
    """Return the names of the columns of the graph's input, if they have names."""
    if not hasattr(model, "feature_names_in_"):
        return []
    names = model.feature_names_in_
    if isinstance(model, MeasureClassifier):
        names = model.get_feature_names_out()[: _width_in(model)]
    return [str(name) for name in names]


def _width_in(classifier: Any) -> int:
    """Return the number of columns that a linear model takes."""
    basis = getattr(classifier, "basis_", None)
    return int(classifier.coef_.shape[1] if basis is None else basis.n_columns)


@functools.cache
def register_converter() -> None:
    """Register converters for ratewise's classifiers with skl2onnx, also for use in a pipeline."""
    for kind, convert in ((MeasureClassifier, _convert), (MeasureMaximizer, _convert_maximizer)):
        _skl2onnx().update_registered_converter(
            kind, f"Ratewise{kind.__name__}", _set_output_types, convert, parser=_declare_outputs
        )


def _declare_outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    operator = scope.declare_local_operator(f"Ratewise{type(model).__name__}", model)
    operator.inputs = inputs
    names = ["label", "score", "probability"]
    for name in names if hasattr(model, "calibration_") else names[:2]:
        operator.outputs.append(scope.declare_local_variable(name, inputs[0].type))
    return operator.outputs


def _set_output_types(operator: Any) -> None:
    types = _skl2onnx().common.data_types
    rows = operator.inputs[0].get_first_dimension()
    label_type = getattr(types, f"{_label_kind(operator.raw_operator)[0]}TensorType")
    operator.outputs[0].set_type(label_type([rows]))
    n_classes = operator.raw_operator.classes_.size
    operator.outputs[1].set_type(types.DoubleTensorType([rows] if n_classes == 2 else [rows, n_classes]))
    for output in operator.outputs[2:]:
        output.set_type(types.DoubleTensorType([rows, n_classes]))


class Graph:
    """Adds operations on rows of doubles to the graph that skl2onnx makes of an operator."""

    def __init__(self, scope: Any, operator: Any, container: Any):
        self._scope, self._container = scope, container
        self._types, self.model = _skl2onnx().common.data_types, operator.raw_operator
        self.outputs = [output.full_name for output in operator.outputs]
        self.rows = self.made("Cast", operator.inputs[0].full_name, to=_tensor_type("DOUBLE"))

    def add(self, kind: str, inputs: list[Any], output: str, name: str | None = None, **attributes: Any) -> None:
        """Add an operation; numbers among its inputs become constants."""
        names = [self.constant("DOUBLE", [1], [one]) if isinstance(one, float) else one for one in inputs]
        name = self._scope.get_unique_operator_name(name or kind)
        self._container.add_node(kind, names, output, name=name, **attributes)

    def made(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Return the name of the result of an operation."""
        output: str = self._scope.get_unique_variable_name("value")
        self.add(kind, list(inputs), output, **attributes)
        return output

    def constant(self, kind: str, shape: list[int], values: Any) -> str:
        name: str = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, _tensor_type(kind), shape, values)
        return name

    def classified(self, model: Any, response: str, columns: int, rows: str | None = None) -> str:
        """Return the scores, or the probabilities, of a linear or scikit-learn classifier, a column per class.

        ``rows`` are the rows of the graph unless given.
        """
        types, rows = self._types, rows or self.rows
        for step in [one for _, one in model.steps[:-1]] if isinstance(model, Pipeline) else []:
            rows = self._sub(step, rows, columns, [types.DoubleTensorType([None, None])])
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        if response == "decision_function":
            if not hasattr(last, "coef_"):
                raise ValueError(f"{type(last).__name__} has scores that are not linear.")
            last = _numbered(last)
        options = {"raw_scores": True} if response == "decision_function" else {}
        self._container.options = {**(self._container.options or {}), id(last): {"zipmap": False, **options}}
        found = [types.Int64TensorType([None]), types.DoubleTensorType([None, None])]
        return self._sub(last, rows, columns, found)

    def _sub(self, model: Any, rows: str, columns: int, found: list[Any]) -> str:
        """Return the last output of a model's own converter for the rows, as doubles."""
        from skl2onnx import get_model_alias

        inner = self._scope.declare_local_operator(get_model_alias(type(model)), model)
        own = self._scope.declare_local_variable("rows", self._types.DoubleTensorType([None, columns]))
        self.add("Identity", [rows], own.full_name)
        inner.inputs.append(own)
        inner.outputs.extend(self._scope.declare_local_variable("found", kind) for kind in found)
        return self.made("Cast", inner.outputs[-1].full_name, to=_tensor_type("DOUBLE"))

    def column(self, matrix: str, column: int) -> str:
        return self.made("Gather", matrix, self.constant("INT64", [], [column]), axis=1)

    def fill(self, means: NDArray[np.float64]) -> None:
        """Put the mean of a column where a number is missing."""
        filling = self.constant("DOUBLE", [1, means.size], means.tolist())
        self.rows = self.made("Where", self.made("IsNaN", self.rows), filling, self.rows)

    def coded(self, basis: Basis) -> str:
        """Return the rows, with gaps filled, in the named columns of a basis."""
        made, hinges, products = self.made, basis.hinges, basis.products

        def row(values: NDArray[np.float64]) -> str:
            return self.constant("DOUBLE", [1, values.size], values.tolist())

        def gathered(matrix: str, columns: NDArray[np.intp]) -> str:
            return made("Gather", matrix, self.constant("INT64", [columns.size], columns.tolist()), axis=1)

        def cut(matrix: str, limit: float) -> str:
            return made("Max", made("Min", matrix, limit), -limit)

        is_missing = made("IsNaN", self.rows)
        self.fill(basis.centre)
        z = cut(made("Mul", made("Sub", self.rows, row(basis.centre)), row(1.0 / basis.spread)), FAR)
        parts = [made("Add", made("Mul", z, row(basis.spread)), row(basis.centre))]
        if basis.missing.column.size:
            parts.append(gathered(made("Cast", is_missing, to=_tensor_type("DOUBLE")), basis.missing.column))
        if hinges.column.size:
            beyond = made("Relu", made("Sub", gathered(z, hinges.column), row(hinges.knot)))
            parts.append(made("Mul", beyond, row(basis.spread[hinges.column])))
        if products.first.size:
            near = cut(z, NEAR)
            parts.append(made("Mul", gathered(near, products.first), gathered(near, products.second)))
        return made("Concat", *parts, axis=1)

    def write_labels(self, number: str, columns: int) -> None:
        """Map the number of a class to its label; if a row has a number that is not finite, the run must fail.

        For such a row a product with zeros is NaN, and the label is looked up at a place that does not exist. The
        runtime's error gives the operation's name.
        """
        zeros = self.constant("DOUBLE", [columns], [0.0] * columns)
        refused = self.made("IsNaN", self.made("MatMul", self.rows, zeros))
        _, kind, labels = _label_kind(self.model)
        nowhere = self.constant("INT64", [1], [len(labels)])
        found = self.made("Where", refused, nowhere, number)
        inputs = [self.constant(kind, [len(labels)], labels), found]
        self.add("Gather", inputs, self.outputs[0], name="X_contains_NaN_or_infinity")


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Fill gaps, apply skl2onnx's linear classifier in double precision, and look up labels."""
    graph, classifier = Graph(scope, operator, container), operator.raw_operator
    columns, n_classes = classifier.coef_.shape[1], classifier.classes_.size
    encoder = getattr(classifier, "encoder_", None)
    if encoder is not None and not encoder.leaves_gaps:
        graph.fill(encoder.fills())
    basis, width = getattr(classifier, "basis_", None), _width_in(classifier)
    coded = None if basis is None else graph.coded(basis)
    scores = graph.classified(classifier, "decision_function", columns, coded)
    if n_classes == 2:
        score = graph.column(scores, 1)
        number = graph.made("Cast", graph.made("Greater", score, 0.0), to=_tensor_type("INT64"))
    else:
        score, number = scores, graph.made("ArgMax", scores, axis=1, keepdims=0)
    graph.add("Identity", [score], graph.outputs[1])
    graph.write_labels(number, width)
    if len(graph.outputs) > 2:
        _add_probability(graph, scores)


def _convert_maximizer(scope: Any, operator: Any, container: Any) -> None:
    """Average the members' votes as ``decision_function`` does."""
    graph, maximizer = Graph(scope, operator, container), operator.raw_operator
    positive = fitted_positive(maximizer)
    total, mean = float(sum(member.weight for member in maximizer._members)), ""
    for member in maximizer._members:
        (stage, *more), classes = member.stages, np.asarray(member.model.classes_)
        if more or stage.trees is not None:
            raise ValueError(
                f"{type(member.model).__name__} votes by some of its trees, which export_onnx does not write: use "
                "save_model instead."
            )
        response, cut, scale = stage.transform
        place = int(np.flatnonzero(classes == positive)[0])
        scores = graph.column(graph.classified(member.model, response, maximizer.n_features_in_), place)
        if response == "predict_proba":
            cut = min(max(cut, 1e-12), 1.0 - 1e-12)
            up, down = graph.made("Mul", scores, 1.0 - cut), graph.made("Sub", cut, graph.made("Mul", scores, cut))
            vote = graph.made("Div", up, graph.made("Max", graph.made("Add", up, down), 1e-300))
        else:
            vote = graph.made("Sigmoid", graph.made("Div", graph.made("Sub", scores, cut), scale))
        part = graph.made("Mul", vote, member.weight / total)
        mean = graph.made("Add", mean, part) if mean else part
    above, compare = graph.made("Sub", mean, float(maximizer.threshold_)), "Greater"
    if positive != maximizer.classes_[1]:
        above, compare = graph.made("Neg", above), "GreaterOrEqual"
    graph.add("Identity", [above], graph.outputs[1])
    number = graph.made("Cast", graph.made(compare, above, 0.0), to=_tensor_type("INT64"))
    graph.write_labels(number, maximizer.n_features_in_)


def _add_probability(graph: Graph, scores: str) -> None:
    """Map scores to log odds by the calibration's curves, and the log odds to probabilities."""
    made, constant = graph.made, graph.constant
    curves = [Calibration.of_numbers(numbers) for numbers in graph.model.calibration_]
    if len(curves) > 1:
        slopes = constant("DOUBLE", [1, len(curves)], [one.slope for one in curves])
        constants = constant("DOUBLE", [1, len(curves)], [one.constant for one in curves])
        odds = made("Add", made("Mul", scores, slopes), constants)
        graph.add("Softmax", [odds], graph.outputs[2], axis=1)
        return
    (curve,) = curves
    second = made("Gather", scores, constant("INT64", [1], [1]), axis=1)
    odds = made("Add", made("Mul", second, curve.slope), curve.constant)
    if curve.knots:
        knots = constant("DOUBLE", [1, len(curve.knots)], list(curve.knots))
        gains = constant("DOUBLE", [len(curve.gains), 1], list(curve.gains))
        at_the_cut = constant("DOUBLE", [1, len(curve.knots)], [max(-knot, 0.0) for knot in curve.knots])
        beyond = made("Sub", made("Relu", made("Sub", second, knots)), at_the_cut)
        odds = made("Add", odds, made("MatMul", beyond, gains))
    share = made("Sigmoid", odds)
    graph.add("Concat", [made("Sub", 1.0, share), share], graph.outputs[2], axis=1)


def _tensor_type(kind: str) -> int:
    from onnx import TensorProto

    return int(getattr(TensorProto, kind))


def _label_kind(classifier: Any) -> tuple[str, str, list[Any]]:
    """Return skl2onnx's and ONNX's name of the type of the labels, and the labels as ONNX stores them."""
    labels = np.array(classifier.classes_.tolist())
    names = {"b": "Boolean", "i": "Int64", "u": "Int64", "f": "Double", "U": "String"}
    if labels.dtype.kind not in names:
        raise ValueError(f"ONNX has no type for the labels {classifier.classes_.tolist()}: use numbers or texts.")
    name = names[labels.dtype.kind]
    stored = [label.encode() for label in labels.tolist()] if name == "String" else labels.tolist()
    return name, "BOOL" if name == "Boolean" else name.upper(), stored


def _numbered(classifier: Any) -> Any:
    """Return the same model as a model of scikit-learn, with classes 0, 1, ..."""
    from sklearn.linear_model import LogisticRegression

    stand_in = LogisticRegression()
    stand_in.coef_, stand_in.intercept_ = np.atleast_2d(classifier.coef_), np.atleast_1d(classifier.intercept_)
    stand_in.classes_, stand_in.n_features_in_ = np.arange(classifier.classes_.size), stand_in.coef_.shape[1]
    return stand_in


def _skl2onnx() -> Any:
    return _needed("skl2onnx")


def _needed(package: str) -> Any:
    """Return a package that the extra installs, or raise one sentence on how to install it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'Export to ONNX needs {package}: pip install "ratewise[onnx]"', name=package
        ) from error
