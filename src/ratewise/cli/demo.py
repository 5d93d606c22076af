"""`ratewise demo`: what ratewise is for, and where it is not needed, in three short acts."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click

from ._options import NewFile
from ._output import print_table

_PRECISION = 0.8
_TRAINING_ROWS, _NEW_ROWS = 3_000, 100_000
_SPLITS = 4
_REPORT = "ratewise-demo.html"

Rows = tuple[Any, Any]


class Kept(NamedTuple):
    """The result of one fit: whether it promised its bound, its true precision and its true recall."""

    promised: bool
    precision: float
    recall: float


@click.command()
@click.option(
    "-o", "--output", type=NewFile(), default=_REPORT, show_default=True, help="Where the report of act 2 goes."
)
@click.option("--repetitions", default=40, show_default=True, type=click.IntRange(2), help="Of the first act.")
def demo(output: str, repetitions: int) -> None:
    """Show in a minute what ratewise is for.

    The three acts are a promise, a measure, and a case where nothing is gained.

    The first act uses made-up rows, whose true rates are known. The others use data that comes with scikit-learn.
    """
    _promise(repetitions)
    model, rival, test = _measure()
    _tie()
    _save_report(output, model, rival, test)


def _promise(repetitions: int) -> None:
    click.echo(
        f"1. A promise: find the most positives at a precision of at least {_PRECISION}\n\n"
        f"{repetitions} times we draw {_TRAINING_ROWS:,} made-up rows, 10% of them positive, fit, and\n"
        f"measure the precision on {_NEW_ROWS:,} new rows.\n"
    )
    rows = []
    for name, fit in (("logistic regression, out-of-fold threshold", _usual_promise), ("ratewise", _our_promise)):
        found = [fit(seed) for seed in _counted(range(repetitions), name)]
        promised = [one for one in found if one.promised]
        kept = sum(one.precision >= _PRECISION for one in promised)
        recall = sum(one.recall for one in promised) / max(len(promised), 1)
        rows.append((name, f"{len(promised)} of {repetitions}", f"{kept} of {len(promised)}", f"{recall:.2f}"))
    print_table(["", "promised", "kept", "mean recall"], rows)
    click.echo(
        "ratewise promises with a confidence of 90%, and says so where the rows are too few for a promise.\n"
    )


def _measure() -> tuple[Any, Any, Rows]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    click.echo(
        "2. A measure: is a handwritten digit an 8? One in ten is.\n\n"
        f"F1 on test rows and CPU seconds per fit on one core, {_SPLITS} random splits of 1,797 digits.\n"
    )
    fitted, test = _compare(X, y == 8)
    click.echo('basis="auto" learns a curve per pixel and products of pixels, and stays one linear model.\n')
    return fitted['ratewise, basis="auto"'], fitted["logistic regression, tuned threshold"], test


def _tie() -> None:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    click.echo(
        "3. Where nothing is gained: breast cancer\n\n"
        "A logistic model fits these 569 rows, so that a tuned threshold is enough. The differences are chance.\n"
    )
    _compare(X, y == 0)


def _compare(X: Any, y: Any) -> tuple[dict[str, Any], Rows]:
    """Print the mean test F1 and CPU time of each model; return those of the last split, and its test rows."""
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits

    from ..measures import get_measure

    f1 = get_measure("f1")
    totals: dict[str, list[float]] = {name: [0.0, 0.0] for name in _models()}
    fitted: dict[str, Any] = {}
    for split in _counted(range(_SPLITS), "split"):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
        for name, model in _models().items():
            before = time.process_time()
            with threadpool_limits(1):  # threads that wait for a busy core count as CPU time too
                fitted[name] = model.fit(X_train, y_train)
            totals[name][1] += time.process_time() - before
            totals[name][0] += f1.score(y_test, model.predict(X_test))
    print_table(
        ["", "F1", "CPU s"], [(n, f1 / _SPLITS, f"{cpu / _SPLITS:.2f}") for n, (f1, cpu) in totals.items()]
    )
    return fitted, (X_test, y_test)


def _models() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import TunedThresholdClassifierCV

    from .. import MeasureClassifier
    from ..measures import get_measure

    boosting, scorer = HistGradientBoostingClassifier(random_state=0), get_measure("f1").scorer()
    return {
        "logistic regression, tuned threshold": TunedThresholdClassifierCV(_logistic(), scoring=scorer),
        "ratewise": MeasureClassifier("f1", random_state=0),
        'ratewise, basis="auto"': MeasureClassifier("f1", basis="auto", random_state=0),
        "gradient boosting, tuned threshold": TunedThresholdClassifierCV(boosting, scoring=scorer),
    }


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))


def _usual_promise(seed: int) -> Kept:
    """Fit logistic regression, and take the threshold of the most recall where out-of-fold precision suffices."""
    import numpy as np
    from sklearn.metrics import precision_recall_curve
    from sklearn.model_selection import cross_val_predict

    X, y = _draw(seed, _TRAINING_ROWS)
    probabilities = cross_val_predict(_logistic(), X, y, cv=5, method="predict_proba")[:, 1]
    precision, _, thresholds = precision_recall_curve(y, probabilities)
    enough = np.flatnonzero(precision[:-1] >= _PRECISION)
    if enough.size == 0:
        return Kept(False, 0.0, 0.0)
    model = _logistic().fit(X, y)
    return _on_new_rows(lambda new: model.predict_proba(new)[:, 1] >= thresholds[enough[0]])


def _our_promise(seed: int) -> Kept:
    from .. import MeasureClassifier

    with warnings.catch_warnings(action="ignore"):  # constraints_met_ says the same
        model = MeasureClassifier(f"recall-at-precision-{_PRECISION}", random_state=0).fit(
            *_draw(seed, _TRAINING_ROWS)
        )
    return _on_new_rows(model.predict)._replace(promised=bool(model.constraints_met_))


def _on_new_rows(predict: Callable[[Any], Any]) -> Kept:
    X, y = _draw(2**31, _NEW_ROWS)
    predicted = predict(X)
    true_positives = int((predicted & y).sum())
    return Kept(True, true_positives / max(int(predicted.sum()), 1), true_positives / int(y.sum()))


def _draw(seed: int, rows: int) -> Rows:
    """Return rows of which the positives are shifted in three of six columns."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.1
    return rng.normal(size=(rows, 6)) + np.multiply.outer(y, [1.6, 1.2, 0.8, 0.0, 0.0, 0.0]), y


def _save_report(output: str, model: Any, rival: Any, test: Rows) -> None:
    from ..reports import report

    names = {'ratewise, basis="auto"': model, "logistic regression, tuned threshold": rival}
    report(names, *test, measure="f1", title="Is the digit an 8?").save(output)
    click.echo(f"A report of the second act is in {output}: open it in a browser.")


def _counted(items: range, name: str) -> Iterator[int]:
    """Yield the items, with a bar on a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    with click.progressbar(items, label=name, file=sys.stderr) as bar:
        yield from bar
