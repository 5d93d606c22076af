"""The plug-in method: L-BFGS to convergence, and the best threshold on the validation part."""

from __future__ import annotations

from ...baselines import PlugIn
from ...measures import Measure
from .base import VALIDATION_FRACTION, Record, Task
from .point_by_point import best_of

C_GRID = (1.0, 0.01)


class PlugInMethod:
    """Logistic regression whose L2 penalty and threshold are tuned."""

    name = "Plug-in (L-BFGS)"
    colour = "#0072B2"

    def suits(self, measure: Measure) -> bool:
        return True

    def run(self, task: Task, record: Record) -> str:
        C = best_of(C_GRID, lambda C: _value_on_validation_rows(task, C))
        _plug_in(task, C).set_params(on_checkpoint=record).fit(task.X, task.positive)
        return f"C {C:g}"


def _plug_in(task: Task, C: float) -> PlugIn:
    return PlugIn(task.measure, C=C, validation_fraction=VALIDATION_FRACTION, refit=False, random_state=task.seed)


def _value_on_validation_rows(task: Task, C: float) -> float:
    from sklearn.model_selection import train_test_split

    learning, validation, positive, truth = train_test_split(
        task.X, task.positive, test_size=VALIDATION_FRACTION, stratify=task.positive, random_state=task.seed
    )
    return _plug_in(task, C).fit(learning, positive).score(validation, truth)
