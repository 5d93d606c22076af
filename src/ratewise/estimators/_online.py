"""The state that ``partial_fit`` keeps between calls, for two classes and for many."""

from __future__ import annotations

import copy
import dataclasses
import json
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ..counts import Counts, against_the_rest
from ..decisions.calibrate import Calibration, stacked
from ..decisions.certify import bound_message
from ..decisions.cuts import effective_points, rates_at
from ..decisions.intervals import rates_interval
from ..features.pairs import FEW_COLUMNS
from ..features.splines import Basis, BasisSettings
from ..measures import Rates
from ..solvers.base import History
from ..solvers.state import LinearModel, LinearModels
from ..training import ArraySource, FitConfig, FitResult, config
from ..training.live import LiveFit
from ..training.online import OnlineFit
from ..training.plain_data import Known, Packed, pack, unpack
from ..training.reservoir import require_sound_rows
from ..training.threads import in_threads
from ._fits import Fitted, first_message, fitted_two_classes
from ._positive import PositiveClass
from ._rows import CheckedRows
from ._settings import fit_config, one_blas_thread, threads_of
from ._targets import checked_labels, many_class_set, require_known, require_no_positive, training_set


def first_basis(asked: Any, rows: CheckedRows) -> Basis | None:
    """Return the basis for all later rows, made from the first rows; None keeps the columns unchanged."""
    if asked is None or sparse.issparse(rows.X) or isinstance(asked, Basis):
        return asked if isinstance(asked, Basis) else None
    if isinstance(asked, str):  # no data to choose a basis yet
        asked = BasisSettings()
    if asked.pairs and rows.X.shape[1] > FEW_COLUMNS:
        raise ValueError(
            f"The first rows cannot tell which pairs of {rows.X.shape[1]} columns matter: use basis='splines' "
            "with partial_fit."
        )
    if asked.n_knots is None:
        asked = dataclasses.replace(asked, n_knots=config.MOST_KNOTS)
    source = ArraySource(rows.X, np.ones(rows.number), np.random.default_rng(0), standardizer=rows.statistics)
    return source.coded(asked).basis


class FromStream:
    """A fitted attribute that ``partial_fit`` changes: it is updated when it is read, not at every call."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        model.refresh_from_stream()
        try:
            return vars(model)[self._name]
        except KeyError:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}") from None

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self._name] = value

    def __delete__(self, model: Any) -> None:
        del vars(model)[self._name]


_PARAMETERS = (
    *("measure", "solver", "pos_label", "half_life", "threshold", "sharpen", "alpha", "standardize", "encode"),
    *("basis", "validation_fraction", "cv"),
)
_FIXED = _PARAMETERS[:4]
_values_of = operator.attrgetter(*_PARAMETERS)


class Asked(NamedTuple):
    """A classifier's parameters for ``partial_fit``: as the user gave them, and as settings."""

    parameters: dict[str, Any]
    settings: FitConfig

    @classmethod
    def of(cls, classifier: Any, before: Asked | None) -> Asked:
        """Read the parameters, unless they have not changed since the last call: batches may have one row."""
        values = _values_of(classifier)
        if before is not None and all(map(operator.is_, values, before.parameters.values())):
            return before
        return cls(dict(zip(_PARAMETERS, values, strict=True)), fit_config(classifier, online=True))


class OnlineBatch(NamedTuple):
    """Checked rows of a stream, the place of each row's class (1 of two for the positive one), and its weight."""

    X: Any
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, checked: CheckedRows, y: Any, sample_weight: Any, classes: NDArray[Any], pos_label: Any
    ) -> OnlineBatch:
        """Check the labels and weights of rows; rows of weight 0 are left out."""
        if sample_weight is None and (codes := _plain_codes(y, checked.number, classes, pos_label)) is not None:
            return cls(checked.X, codes, np.ones(codes.size))
        labels = checked_labels(y, checked.number)
        if sample_weight is not None and np.shape(sample_weight) == labels.y.shape and not np.any(sample_weight):
            require_known(labels.found, classes)
            return cls(checked.X[:0], np.zeros(0, dtype=np.intp), np.zeros(0))
        if classes.size == 2:
            two = training_set(checked, labels, sample_weight, pos_label=pos_label, classes=classes)
            signed = np.asarray(two.signed_weights, dtype=np.float64)
            return cls(two.X, (signed > 0).astype(np.intp), np.abs(signed))
        require_no_positive(pos_label, f"{classes.size} classes")
        many = many_class_set(checked, labels, sample_weight, classes=classes)
        return cls(many.X, many.codes, many.weights)

    @property
    def size(self) -> int:
        return len(self.codes)

    def of_rows(self, rows: slice) -> OnlineBatch:
        return OnlineBatch(self.X[rows], self.codes[rows], self.weights[rows])

    def against_the_rest(self, code: int) -> NDArray[np.float64]:
        """Return the weights, negative for all classes except for one."""
        return np.where(self.codes == code, self.weights, -self.weights)


def _plain_codes(y: Any, n_rows: int, classes: NDArray[Any], pos_label: Any) -> NDArray[np.intp] | None:
    """Return the class numbers of labels; None if scikit-learn must check the labels, which takes 0.2 ms."""
    if type(y) is not np.ndarray or y.shape != (n_rows,) or y.dtype != classes.dtype or y.dtype.kind not in "biu":
        return None
    codes = classes.searchsorted(y)
    if pos_label is not None or (classes.take(codes, mode="clip") != y).any():
        return None
    return codes


class Waiting:
    """Rows that wait for more rows, so that the model does not depend on the batches."""

    def __init__(self) -> None:
        self._parts: list[OnlineBatch] = []
        self.size = 0

    def add(self, batch: OnlineBatch) -> None:
        self._parts.append(batch)
        self.size += batch.size

    def first(self, number: int) -> OnlineBatch:
        """Return the first rows, without removing them."""
        taken, size = [], 0
        for part in self._parts:
            if size == number:
                break
            taken.append(part if size + part.size <= number else part.of_rows(slice(0, number - size)))
            size += taken[-1].size
        if len(taken) == 1:
            return taken[0]
        of_rows = [one.X for one in taken]
        if any(map(sparse.issparse, of_rows)):
            X = sparse.vstack([sparse.csr_matrix(one) for one in of_rows], format="csr")
        else:
            X = np.concatenate(of_rows)
        return OnlineBatch(X, *(np.concatenate(column) for column in ([one[k] for one in taken] for k in (1, 2))))

    def drop(self, number: int) -> None:
        """Remove the first rows."""
        self.size -= number
        whole = 0
        while number and self._parts[whole].size <= number:
            number -= self._parts[whole].size
            whole += 1
        del self._parts[:whole]
        if number:
            self._parts[0] = self._parts[0].of_rows(slice(number, None))

    def require_sound(self, n_features: int) -> None:
        """Raise an error for rows from a file that do not fit the model."""
        for part in self._parts:
            require_sound_rows(part.X, n_features)
            if not part.X.shape[0] == part.codes.size == part.weights.size:
                raise ValueError("the rows that were kept have other numbers of labels or weights")
        if self.size != sum(part.size for part in self._parts):
            raise ValueError("rows that were kept are missing")

    def keep(self) -> None:
        """Copy the waiting rows of the last batch, because its array belongs to the user."""
        if self._parts:
            last = self._parts[-1]
            self._parts[-1] = OnlineBatch(last.X.copy(), last.codes, last.weights)


class OnlineClassifier:
    """One run for two classes; for more, one run for each class against the rest, and the highest log odds win.

    Rows are learned in blocks that end after the same rows, whatever the batches are. ``before`` are the models to
    start from.
    """

    def __init__(
        self,
        asked: Asked,
        n_features: int,
        classes: NDArray[Any],
        before: LinearModels | None,
        random_state: Any,
        *,
        verbose: bool = False,
    ):
        self.asked, self._classes = asked, classes
        settings, pos_label = asked.settings, asked.parameters["pos_label"]
        models: list[LinearModel | None] = [None] * (1 if classes.size == 2 else classes.size)
        if before is not None:
            sign = PositiveClass.of(classes, pos_label).sign if classes.size == 2 else 1.0
            models = [model.times(sign) for model in before.each()]
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        kind = OnlineFit if settings.half_life is None else LiveFit
        self._runs = [kind(settings, n_features, model, seed, verbose=verbose) for model in models]
        self._positive = [1] if len(models) == 1 else list(range(len(models)))  # the class of each run
        self._waiting = Waiting()
        self._learned = 0
        self._totals = np.zeros(classes.size)
        self._predicted = RecentConfusion(classes.size)
        self._read_at = (-1, -1)

    def to_plain(self) -> dict[str, Any]:
        """Return the state as a text and arrays, which contain no code."""
        packed = pack(self, _known(self.settings))
        return {"tree": json.dumps(packed.tree), "arrays": packed.arrays}

    @staticmethod
    def from_plain(plain: dict[str, Any], classifier: Any) -> OnlineClassifier:
        """Return the state that :meth:`to_plain` made; raise a ValueError if it is from another classifier."""
        asked = Asked.of(classifier, None)
        found = unpack(Packed(json.loads(plain["tree"]), list(plain["arrays"])), _known(asked.settings))
        if type(found) is not OnlineClassifier or any(
            found.asked.parameters[name] != asked.parameters[name] for name in _FIXED
        ):
            raise ValueError("the state is of a classifier with other parameters")
        basis = classifier.basis_
        n_features = classifier.coef_.shape[1] if basis is None else basis.width
        if not np.array_equal(found._classes, classifier.classes_) or len(found._runs) != len(classifier.coef_):
            raise ValueError("the state is of a classifier of other classes")
        found._waiting.require_sound(n_features)
        for run in found._runs:
            run.require_sound(n_features)
        found.asked = asked
        return found

    @property
    def settings(self) -> FitConfig:
        return self.asked.settings

    def check(self, batch: OnlineBatch, asked: Asked) -> None:
        """Raise an error for rows or parameters with which the fit cannot continue, before anything is changed."""
        given = self._waiting.size + batch.size
        anew = asked is not self.asked or not self._learned + self._waiting.size
        if anew or given >= self._block_rows():
            totals = self._totals + np.bincount(batch.codes, batch.weights, minlength=self._classes.size)
            floor = 0.5 / (self._learned + given + 1)
            for positive in self._positive:
                share = min(max(float(totals[positive] / max(totals.sum(), 1e-300)), floor), 1.0 - floor)
                asked.settings.solver.check(asked.settings.measure, share)
        for name in _FIXED if anew else ():
            was, now = self.asked.parameters[name], asked.parameters[name]
            if was is not now and was != now:
                raise ValueError(
                    f"{name} cannot change between calls of partial_fit: it was {was!r} and is {now!r} now. Begin "
                    "anew with a clone of the classifier."
                )

    def learn(self, batch: OnlineBatch, n_jobs: int | None) -> None:
        if not batch.size:
            return
        self._totals += np.bincount(batch.codes, batch.weights, minlength=self._totals.size)
        self._waiting.add(batch)
        if self._waiting.size >= self._block_rows():
            threads = threads_of(n_jobs) if len(self._runs) > 1 else 1
            with one_blas_thread():
                while self._waiting.size >= (number := self._block_rows()):
                    self._learn(self._waiting.first(number), threads)
                    self._waiting.drop(number)
        self._waiting.keep()

    def _block_rows(self) -> int:
        most = config.ONLINE_BLOCK if self.settings.half_life is None else config.LIVE_BLOCK
        return config.online_block(self._learned, most)

    def _learn(self, block: OnlineBatch, threads: int, *, last: bool = False) -> None:
        if len(self._runs) > 1 and self.settings.half_life is not None:
            self._predicted.add(block, self._models() if self._learned else None)
        jobs = list(zip(self._runs, self._positive, strict=True))
        in_threads(lambda job: job[0].learn(block.X, block.against_the_rest(job[1]), last=last), jobs, threads)
        self._learned += block.size

    def read(self, basis: Basis | None) -> tuple[Fitted, History]:
        """Return the model of the rows so far, in the named columns of a basis if there is one."""
        with one_blas_thread():
            now = self._up_to_date()
            fitted = now.fitted()
        self._read_at = self._latest()
        return fitted._replace(result=fitted.result.in_named_columns(basis)), now.history

    @property
    def is_read(self) -> bool:
        """Whether the model of the rows so far has been read."""
        return self._read_at == self._latest()

    def _latest(self) -> tuple[int, int]:
        """Return the number of rows learned so far, and the number that the model to be read has learned."""
        given = self._learned + self._waiting.size
        step = 1 << max(0, (given // config.LATEST_SHARE).bit_length() - 1)  # a power of 2: it changes seldom
        return self._learned, max(given - given % step, self._learned)

    def _up_to_date(self) -> OnlineClassifier:
        """Return this object, or with few rows a copy that has also learned from most of the waiting rows.

        The choice of these rows depends only on the number of rows.
        """
        learned, due = self._latest()
        if due == learned:
            return self
        ahead = copy.deepcopy(self)
        ahead.history.silence()
        ahead._learn(self._waiting.first(due - self._learned), 1, last=True)
        return ahead

    @property
    def history(self) -> History:
        if len(self._runs) == 1:
            return self._runs[0].history
        together = History()
        for k, run in enumerate(self._runs):
            together.join(run.history, **{"class": float(k)})
        return together

    def fitted(self) -> Fitted:
        if len(self._runs) == 1:
            return fitted_two_classes(self._runs[0].result(), self._classes, self.asked.parameters["pos_label"])
        settings, models = self.settings, self._models()
        coef, intercept = models
        if settings.half_life is None:
            seen = [_rates_of(run, k, coef, intercept) for k, run in enumerate(self._runs)]
            chosen_by = coef.shape[1] + 1
        else:
            seen, chosen_by = self._predicted.rates(), 0
        names = (f"class {label!r}" for label in self._classes.tolist())
        measure = settings.measure
        message = first_message(names, (bound_message(measure, one, mine) for one, mine in seen))
        intervals = [rates_interval(one, measure, mine, chosen_by) for one, mine in seen]
        as_they_are = stacked([Calibration(1.0, 0.0)] * len(self._runs))
        centre, scale = self._runs[0].scaling()
        result = FitResult(
            coef,
            intercept,
            scale,
            [one for one, _ in seen],
            (),
            settings.solver,
            intervals,
            as_they_are,
            centre=centre,
        )
        return Fitted(self._classes, result.checked(), message)

    def _models(self) -> LinearModels:
        """Return the models of all classes."""
        return LinearModels.of(run.log_odds_model() if self.settings.tune else run.model() for run in self._runs)


def _known(settings: FitConfig) -> Known:
    return Known(settings, (OnlineClassifier, Asked, OnlineBatch, Waiting, RecentConfusion))


class RecentConfusion:
    """The predictions for recent rows of many classes, made before the rows were learned."""

    def __init__(self, n_classes: int):
        self._counts = Counts(np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes)))

    def add(self, block: OnlineBatch, models: LinearModels | None) -> None:
        """Count the rows of a block; without a model there are no predictions to count."""
        if models is None:
            return
        coef, intercept = models
        predicted = (np.asarray(block.X @ coef.T) + intercept).argmax(axis=1)
        weights = block.weights * 0.5 ** (np.arange(block.size)[::-1] / config.CHOICE_ROWS)
        fresh = Counts.of_labels(block.codes, predicted, weights, n_classes=intercept.size)
        self._counts = self._counts.decay(0.5 ** (block.size / config.CHOICE_ROWS)).merge(fresh)

    def rates(self) -> list[tuple[Rates, tuple[float, float]]]:
        """Return the rates of each class against the rest, and the effective number of rows."""
        each = (
            self._counts.one_vs_rest()
            if self._counts.weights.any()
            else Rates(*np.zeros((3, len(self._counts.weights))))
        )
        return list(zip(each.each(), against_the_rest(self._counts.effective_points()), strict=True))


def _rates_of(
    run: Any, k: int, coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> tuple[Rates, tuple[float, float]]:
    """Return the rates of one class if the highest score wins, on a sample of all rows, and its points."""
    sample, signed_weights = run.reservoir.sample()
    wins = (np.asarray(sample @ coef.T) + intercept).argmax(axis=1) == k
    return rates_at(wins.astype(np.float64), signed_weights, 0.5), effective_points(signed_weights)
