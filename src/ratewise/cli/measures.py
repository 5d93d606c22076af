"""`ratewise measures`: what can be maximised."""

from __future__ import annotations

from typing import Any

import click

from ._options import json_option
from ._output import print_json, print_table


@click.command()
@json_option
def measures(as_json: bool) -> None:
    """List the measures that can be maximised, by name."""
    from ..measures import get_measure, measure_names

    found = {name: _facts(get_measure(name)) for name in measure_names()}
    if as_json:
        print_json(found)
        return
    rows = [(name, one["measure"], one["family"], one["says"]) for name, one in found.items()]
    print_table(("name", "class", "family", "what it is"), rows, whole_names=True)


def _facts(measure: Any) -> dict[str, str]:
    from ..measures import ConcaveMeasure, PseudoLinearMeasure

    families = {ConcaveMeasure: "concave", PseudoLinearMeasure: "pseudo-linear"}
    family = next((word for kind, word in families.items() if isinstance(measure, kind)), "other")
    says = (type(measure).__doc__ or "").strip().partition("\n")[0]
    return {"measure": measure.label, "family": family, "says": says}
