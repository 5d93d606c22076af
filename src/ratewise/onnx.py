"""Export of models as ONNX graphs, for programs without Python.

The converter is skl2onnx's own for linear classifiers, in double precision, so that labels agree with ``predict``
row by row. (In single precision, the default there, rows near the boundary change sides.)
"""

from __future__ import annotations

import functools
import json
import os
from typing import Any, BinaryIO

import numpy as np

from ._atomic import write_bytes
from .estimators import MeasureClassifier
from .solvers.calibrate import Calibration


def export_onnx(classifier: MeasureClassifier, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a fitted classifier as an ONNX file.

    The graph takes ``X``, rows of doubles in the order of the columns of the fit, and returns ``label``, ``score``
    (above 0 for ``classes_[1]``; with more classes, a column for each) and ``probability`` (a column per class, as
    ``predict_proba``; not in models saved before ratewise calibrated scores). A model made from files with
    text columns takes the encoded columns; the file's metadata name them, under ``feature_names``.

    For a pipeline that ends in a ``MeasureClassifier``, call :func:`register_converter` and then skl2onnx itself.

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

    skl2onnx = _skl2onnx()
    check_is_fitted(classifier, "coef_")
    if classifier.multilabel_:
        raise ValueError("A model of several labels cannot be exported to ONNX: fit one classifier per label.")
    register_converter()
    inputs = [("X", skl2onnx.common.data_types.DoubleTensorType([None, classifier.coef_.shape[1]]))]
    graph = skl2onnx.convert_sklearn(classifier, "ratewise", initial_types=inputs)
    metadata = {
        "ratewise_version": __version__,
        "measure": classifier.measure_.label,
        "feature_names": json.dumps(_column_names(classifier)),
    }
    for key, value in metadata.items():
        graph.metadata_props.add(key=key, value=value)
    write_bytes(path, graph.SerializeToString())


def _column_names(classifier: MeasureClassifier) -> list[str]:
    """Return what each coefficient is of, where columns have names."""
    named = hasattr(classifier, "feature_names_in_")
    return [str(name) for name in classifier.get_feature_names_out()] if named else []


@functools.cache
def register_converter() -> None:
    """Register a converter of :class:`~ratewise.MeasureClassifier` with skl2onnx, alone or in a pipeline."""
    _skl2onnx().update_registered_converter(
        MeasureClassifier, "RatewiseMeasureClassifier", _set_output_types, _convert, parser=_declare_outputs
    )


def _declare_outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    operator = scope.declare_local_operator("RatewiseMeasureClassifier", model)
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


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Cast the rows to double, apply skl2onnx's linear classifier, and map the class number to the label."""
    from onnx import TensorProto

    types = _skl2onnx().common.data_types
    classifier = operator.raw_operator

    def add(kind: str, inputs: list[str], output: Any, **attributes: Any) -> None:
        name = scope.get_unique_operator_name(kind)
        container.add_node(kind, inputs, output.full_name, name=name, **attributes)

    def constant(kind: str, shape: list[int], values: list[Any]) -> str:
        name: str = scope.get_unique_variable_name("constant")
        container.add_initializer(name, getattr(TensorProto, kind), shape, values)
        return name

    rows = scope.declare_local_variable("rows", types.DoubleTensorType([None, classifier.coef_.shape[1]]))
    add("Cast", [operator.inputs[0].full_name], rows, to=TensorProto.DOUBLE)

    numbered = _numbered(classifier)
    linear = scope.declare_local_operator("SklearnLinearClassifier", numbered)
    container.options = {**(container.options or {}), id(numbered): {"raw_scores": True}}  # not probabilities
    number = scope.declare_local_variable("number", types.Int64TensorType([None]))
    n_classes = classifier.classes_.size
    scores = scope.declare_local_variable("scores", types.DoubleTensorType([None, n_classes]))
    linear.inputs.append(rows)
    linear.outputs.extend([number, scores])

    label, score, *probability = operator.outputs
    _, kind, labels = _label_kind(classifier)
    add("Gather", [constant(kind, [n_classes], labels), number.full_name], label)
    if n_classes == 2:
        add("Gather", [scores.full_name, constant("INT64", [], [1])], score, axis=1)
    else:
        add("Identity", [scores.full_name], score)
    if probability:
        _add_probability(classifier, scores, probability[0], scope, add, constant)


def _add_probability(
    classifier: MeasureClassifier, scores: Any, probability: Any, scope: Any, add: Any, constant: Any
) -> None:
    """Map scores to log odds by the calibration's curves, and these to probabilities."""
    types = _skl2onnx().common.data_types

    def made(kind: str, *inputs: Any, **attributes: Any) -> Any:
        """Return the result of an operation; numbers become constants."""
        names = []
        for one in inputs:
            if isinstance(one, float):
                names.append(constant("DOUBLE", [1], [one]))
            else:
                names.append(one if isinstance(one, str) else one.full_name)
        output = scope.declare_local_variable("value", types.DoubleTensorType([None, None]))
        add(kind, names, output, **attributes)
        return output

    curves = [Calibration.of_numbers(numbers) for numbers in classifier.calibration_]
    if len(curves) > 1:
        slopes = constant("DOUBLE", [1, len(curves)], [one.slope for one in curves])
        constants = constant("DOUBLE", [1, len(curves)], [one.constant for one in curves])
        odds = made("Add", made("Mul", scores, slopes), constants)
        add("Softmax", [odds.full_name], probability, axis=1)
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
    add("Concat", [made("Sub", 1.0, share).full_name, share.full_name], probability, axis=1)


def _label_kind(classifier: MeasureClassifier) -> tuple[str, str, list[Any]]:
    """Return skl2onnx's and ONNX's name of the type of the labels, and the labels as ONNX stores them."""
    labels = np.array(classifier.classes_.tolist())
    names = {"b": "Boolean", "i": "Int64", "u": "Int64", "f": "Double", "U": "String"}
    if labels.dtype.kind not in names:
        raise ValueError(f"ONNX has no type for the labels {classifier.classes_.tolist()}: use numbers or texts.")
    name = names[labels.dtype.kind]
    stored = [label.encode() for label in labels.tolist()] if name == "String" else labels.tolist()
    return name, "BOOL" if name == "Boolean" else name.upper(), stored


def _numbered(classifier: MeasureClassifier) -> Any:
    """Return the same model as scikit-learn's, with classes 0, 1, ..."""
    from sklearn.linear_model import LogisticRegression

    stand_in = LogisticRegression()
    stand_in.coef_, stand_in.intercept_ = classifier.coef_, classifier.intercept_
    stand_in.classes_, stand_in.n_features_in_ = np.arange(classifier.classes_.size), classifier.coef_.shape[1]
    return stand_in


def _skl2onnx() -> Any:
    try:
        import skl2onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Export to ONNX needs skl2onnx: pip install "ratewise[onnx]"', name="skl2onnx"
        ) from error
    return skl2onnx
