"""`ratewise measures`: list the measures that can be maximized."""

from __future__ import annotations

from typing import Any

import click

from ._options import json_option
from ._output import print_json, print_table


@click.command()
@click.option("--many-classes", is_flag=True, help="What the names mean for more than two classes.")
@json_option
def measures(many_classes: bool, as_json: bool) -> None:
    """List the measures that can be maximized, by name."""
    from ..measures import confusion_measure, get_measure, measure_names

    if many_classes:
        found = {name: _facts_of_many(confusion_measure(name)) for name in measure_names(many_classes=True)}
    else:
        found = {name: _facts(get_measure(name)) for name in measure_names()}
    if as_json:
        print_json(found)
        return
    heads = ("name", "class", "what it is") if many_classes else ("name", "class", "family", "what it is")
    print_table(heads, [(name, *one.values()) for name, one in found.items()], whole_names=True)
    if not many_classes:
        click.echo("With more than two classes: `ratewise measures --many-classes`.")


def _facts_of_many(measure: Any) -> dict[str, str]:
    from ..measures import MacroAverage

    averaged = isinstance(measure, MacroAverage)
    says = f"The mean over the classes: {_facts(measure.measure)['says']}" if averaged else _first_line(measure)
    return {"measure": measure.label, "says": says}


def _first_line(measure: Any) -> str:
    return (type(measure).__doc__ or "").strip().partition("\n")[0]


def _facts(measure: Any) -> dict[str, str]:
    from ..measures import ConcaveMeasure, PseudoLinearMeasure

    families = {ConcaveMeasure: "concave", PseudoLinearMeasure: "pseudo-linear"}
    family = next((word for kind, word in families.items() if isinstance(measure, kind)), "other")
    return {"measure": measure.label, "family": family, "says": _first_line(measure)}
