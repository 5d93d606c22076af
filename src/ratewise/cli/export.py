"""`ratewise export`: a model for programs without Python."""

from __future__ import annotations

import click

from ._options import NewFile


@click.command()
@click.argument("model")
@click.argument("output", type=NewFile())
def export(model: str, output: str) -> None:
    """Write MODEL as an ONNX graph to OUTPUT.

    The graph takes rows of doubles and returns labels, scores and probabilities.
    """
    from ..onnx import export_onnx
    from ._data import load, refuse_inputs_as_outputs, written

    refuse_inputs_as_outputs({"OUTPUT": output}, (), None, model)
    classifier = load(model)
    encoder = getattr(classifier, "encoder_", None)
    with written(output) as file:
        export_onnx(classifier, file)
    if output != "-":
        given = "label, score and probability" if hasattr(classifier, "calibration_") else "label and score"
        click.echo(f"{output}: takes X, {classifier.coef_.shape[1]:,} columns of doubles; gives {given}.")
    if encoder is not None and encoder.several:
        click.echo(
            "The model was learned from a table; the graph takes its columns encoded, as its metadata name them.",
            err=True,
        )
