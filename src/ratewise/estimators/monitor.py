"""Watch a model in use: the measure on recent rows, and an alarm when a bound no longer holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._input_checks import is_of_texts, plain_labels
from ..counts import Counts
from ..decisions.draws import interval, normal_draws, resampled, values_of
from ..measures import Bound, FBeta, Jaccard, Measure, get_measure

_BETS = np.array([0.05, 0.1, 0.2, 0.4, 0.8])
"""The stakes of the detector: small stakes detect small drops, large stakes detect large drops soon."""
_AT_ONCE = 256  # rows per product: more rows would overflow
_MOST_WORTH = 1e100  # the limit for bets that were won long ago
_MOST_ROWS = 2_000  # the limit for the history
_DRAWS = 1_000
_TWO_SIGMA = 1.96


class Watched(NamedTuple):
    """A statement about rows: the mean gain of the rows that it concerns is 0 or more."""

    label: str
    gains: NDArray[np.float64]
    """The gain of a row, by its true and its predicted class; 0 for rows that the statement does not concern."""
    share: tuple[Any, Any, str]
    """The share to report in a message: the cells of its numerator and denominator, and the denominator's name."""

    @classmethod
    def of_bound(cls, bound: Bound) -> Watched:
        gains = np.zeros((2, 2))
        for cell in np.ndindex(2, 2):
            table = np.zeros((2, 2))
            table[cell] = 1.0
            counted = bound._replace(numerator=bound.denominator, denominator=(None, None)).share(table)
            gains[cell] = counted * (bound.share(table) - bound.level) * (1.0 if bound.at_least else -1.0)
        kind = bound.kind or "share"
        rows = {"precision": "rows predicted positive", "TPR": "positive rows", "TNR": "negative rows"}
        label = f"{kind} {'' if bound.at_least else 'at most '}{bound.level:g}"
        return cls(label, gains, (bound.numerator, bound.denominator, rows.get(kind, "rows")))

    @classmethod
    def of_measure(cls, measure: Measure, level: float) -> Watched:
        """Return the statement that a ratio of counts reaches a level: numerator minus level times denominator."""
        if isinstance(measure, FBeta):
            square = measure.beta**2
        elif isinstance(measure, Jaccard):
            square, level = 1.0, 2.0 * level / (1.0 + level)  # the F1 of that Jaccard index
        else:
            raise ValueError(
                f"Monitor watches F-beta, Jaccard and bounds such as RecallAtPrecision(0.9); {measure.label} is "
                "neither. Leave out at_least to follow its value without an alarm."
            )
        gains = np.array([[0.0, -level], [-level * square, (1.0 + square) * (1.0 - level)]])
        return cls(f"{measure.label} {level:g}", gains, ((1, 1), (1, None), "positive rows"))


class Monitor:
    """Watch any model while it is used, label by label, in constant memory.

    ``value`` and ``interval`` describe recent rows: the weight of a row halves with every ``half_life`` further
    rows. If the measure has bounds, or ``at_least`` is given, ``alarm`` becomes a sentence when a bound no longer
    holds. The detector bets against the bound (an e-detector). While the bound holds, the mean number of rows
    between two false alarms is at least ``false_alarm_every``; only rows that the bound concerns are counted.

    Parameters
    ----------
    measure : str, Measure or Bound
        What to follow: "f1", ``RecallAtPrecision(0.9)``, ``Constrained("f1", tnr=0.95)``, ...
    at_least : float, optional
        The lowest value of F-beta or Jaccard that does not raise an alarm.
    pos_label : label, optional
        The positive class; 1 or True unless given.
    half_life : float
        The number of rows after which a row counts half as much in ``value`` and ``interval``.
    false_alarm_every : float
        The smallest mean number of rows between two false alarms.

    Attributes
    ----------
    alarm : str or None
        The bound that no longer holds, with numbers; None while every bound holds. ``reset()`` clears it.
    alarm_row_ : int or None
        The number of the row that raised the alarm, counted from 1.
    n_rows_ : int
        The number of rows seen.
    history_ : dict of arrays
        The rows, the value and the evidence against the bounds after each update. A long history is thinned out.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise import Monitor
    >>> from ratewise.measures import RecallAtPrecision
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor(RecallAtPrecision(0.9))
    >>> predicted = np.ones(2_000)
    >>> monitor.update(rng.random(2_000) < 0.93, predicted).alarm is None
    True
    >>> monitor.update(rng.random(2_000) < 0.80, predicted).alarm[:32]
    'precision 0.9 no longer holds: 0'
    """

    def __init__(
        self,
        measure: str | Measure | Bound = "f1",
        *,
        at_least: float | None = None,
        pos_label: Any = None,
        half_life: float = 1_000.0,
        false_alarm_every: float = 10_000.0,
    ):
        for name, number, low in (("half_life", half_life, 0.0), ("false_alarm_every", false_alarm_every, 1.0)):
            if not isinstance(number, int | float) or isinstance(number, bool) or not low < number < math.inf:
                raise ValueError(f"Monitor: {name} must be a number above {low:g}; got {number!r}.")
        if at_least is not None and not 0.0 < at_least < 1.0:
            raise ValueError(f"Monitor: at_least must lie between 0 and 1; got {at_least!r}.")
        self.measure, self.at_least, self.pos_label = measure, at_least, pos_label
        self.half_life, self.false_alarm_every = half_life, false_alarm_every
        self._measure = None if isinstance(measure, Bound) else get_measure(measure)
        self._watched = self._statements()
        self.n_rows_ = 0
        self._recent = Counts(np.zeros((2, 2)), np.zeros((2, 2)))
        self._detectors = [_Detector(one.gains, false_alarm_every) for one in self._watched]
        self._largest_weight = 0.0
        self._history: list[tuple[float, float, float]] = []
        self.alarm: str | None = None
        self.alarm_row_: int | None = None

    def _statements(self) -> list[Watched]:
        bounds: Sequence[Bound] = (self.measure,) if isinstance(self.measure, Bound) else ()
        if self._measure is not None:
            bounds = self._measure.bounds
        watched = [Watched.of_bound(bound) for bound in bounds]
        if self.at_least is not None:
            if self._measure is None:
                raise ValueError("Monitor: a Bound has its own level; leave out at_least.")
            watched.append(Watched.of_measure(self._measure, float(self.at_least)))
        return watched

    def update(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add any number of rows, given by their true labels and their predictions."""
        true, predicted = self._codes("y_true", y_true), self._codes("y_pred", y_pred)
        if true.shape != predicted.shape:
            raise ValueError(
                f"y_true has {true.size} labels and y_pred {predicted.size}: give one of each per row."
            )
        weights = np.ones(true.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != true.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError("sample_weight must hold one finite number of 0 or more per row.")
        if not true.size:
            return self
        ages = np.arange(true.size - 1, -1, -1)
        fresh = Counts.of_labels(true, predicted, weights * 0.5 ** (ages / self.half_life))
        self._recent = self._recent.decay(0.5 ** (true.size / self.half_life)).merge(fresh)
        self._largest_weight = max(self._largest_weight, float(weights.max()))
        stakes = weights / max(self._largest_weight, 1e-300)
        self.n_rows_ += true.size
        for watched, detector in zip(self._watched, self._detectors, strict=True):
            taken = 0
            while (more := detector.take(true[taken:], predicted[taken:], stakes[taken:])) is not None:
                taken += more
                if self.alarm is None:
                    self.alarm, self.alarm_row_ = _sentence(watched, detector), self.n_rows_ - true.size + taken
        self._remember()
        return self

    def reset(self) -> Self:
        """Clear the alarm and the evidence for it, for example after the model was fitted again."""
        self.alarm = self.alarm_row_ = None
        self._detectors = [_Detector(one.gains, self.false_alarm_every) for one in self._watched]
        return self

    @property
    def watches(self) -> bool:
        """Whether there is a bound that can raise an alarm."""
        return bool(self._watched)

    @property
    def value(self) -> float:
        """The measure, or the share that is bounded, on recent rows; NaN before the first row."""
        if not self._recent.weights.any():
            return math.nan
        if self._measure is None:
            return float(self.measure.share(self._recent.weights))  # type: ignore[union-attr]
        return float(self._measure.value(*self._recent.rates))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of ``value``, from recent rows."""
        value = self.value
        if math.isnan(value):
            return math.nan, math.nan
        rates = resampled(self._recent, normal_draws(0, _DRAWS))
        if self._measure is not None:
            return interval(values_of(self._measure, rates), value)
        tables = _tables(rates)
        return interval(self.measure.share(tables), value)  # type: ignore[union-attr]

    @property
    def history_(self) -> dict[str, NDArray[np.float64]]:
        columns = np.array(self._history, dtype=np.float64).reshape(-1, 3).T
        return dict(zip(("rows", "value", "evidence"), columns, strict=True))

    def _remember(self) -> None:
        evidence = max((one.evidence for one in self._detectors), default=0.0)
        self._history.append((float(self.n_rows_), self.value, evidence))
        if len(self._history) > _MOST_ROWS:
            del self._history[::2]

    def _codes(self, name: str, labels: ArrayLike) -> NDArray[np.intp]:
        found = plain_labels(labels)
        if found.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional; got {found.ndim} dimensions.")
        if self.pos_label is not None:
            if found.size and is_of_texts(found) != isinstance(self.pos_label, str):
                raise ValueError(
                    f"pos_label={self.pos_label!r} and {name}, with {found.tolist()[0]!r}, are of different types."
                )
            return np.asarray(found == self.pos_label, dtype=np.intp)
        if found.size and not (np.issubdtype(found.dtype, np.number) or found.dtype == bool):
            raise ValueError(f"{name} holds texts: name the positive class with pos_label=.")
        if not np.isin(found, (-1, 0, 1)).all():
            raise ValueError(f"{name} holds other labels than 0 and 1: name the positive class with pos_label=.")
        return np.asarray(found == 1, dtype=np.intp)


class _Detector:
    """The evidence against a statement: the winnings of bets against it, with a new bet at every row.

    A bet multiplies its stake by 1 - L gain, so that its mean win is 0 or less while the statement holds. A new
    unit is staked at every row. The total worth of the bets exceeds 1 / alpha once in 1 / alpha rows at most.
    """

    def __init__(self, gains: NDArray[np.float64], limit: float):
        self._gains = gains / np.abs(gains).max()
        self._limit = limit
        self.alarmed = False
        self._worth = np.zeros(_BETS.size)
        self._drop = 0.0  # the log of what a bet since the worst start has won
        self.counts = np.zeros((2, 2))
        """The table of the rows since then."""

    @property
    def evidence(self) -> float:
        """Return the evidence as a share of the evidence that raises an alarm."""
        return float(self._worth.mean()) / self._limit

    def take(self, true: NDArray[np.intp], predicted: NDArray[np.intp], stakes: NDArray[np.float64]) -> int | None:
        """Take rows in order up to the first that raises an alarm; return their number, or None without alarm."""
        gains = self._gains[true, predicted]
        concerned = np.flatnonzero((gains != 0.0) & (stakes > 0.0))
        for begin in range(0, concerned.size, _AT_ONCE):
            which = concerned[begin : begin + _AT_ONCE]
            factors = 1.0 - np.outer(_BETS, stakes[which] * gains[which])
            products = np.cumprod(factors, axis=1)
            # worth = (worth + 1) factor, row by row
            units = np.cumsum(np.hstack([np.ones((_BETS.size, 1)), 1.0 / products[:, :-1]]), axis=1)
            worths = products * (self._worth[:, np.newaxis] + units)
            above = np.flatnonzero(worths.mean(axis=0) > self._limit)
            alarms = above.size > 0 and not self.alarmed
            last = int(above[0]) if alarms else which.size - 1
            self._worth = np.minimum(worths[:, last], _MOST_WORTH)
            self._follow_drop(
                np.log(factors[2, : last + 1]), true[which[: last + 1]], predicted[which[: last + 1]]
            )
            if alarms:
                self.alarmed = True
                return int(which[last]) + 1
        return None

    def _follow_drop(self, won: NDArray[np.float64], true: NDArray[np.intp], predicted: NDArray[np.intp]) -> None:
        """Estimate the start of the drop: the bet that starts there has won most."""
        path = self._drop + np.cumsum(won)
        lowest = np.minimum.accumulate(np.minimum(path, 0.0))
        begins = np.flatnonzero(path <= lowest)
        self._drop = float(path[-1] - lowest[-1])
        since = 0
        if begins.size:
            since = int(begins[-1]) + 1
            self.counts = np.zeros((2, 2))
        np.add.at(self.counts, (true[since:], predicted[since:]), 1.0)


def _sentence(watched: Watched, detector: _Detector) -> str:
    part, whole, rows = watched.share
    bound = Bound(part, whole, 0.5)
    n = float(Bound(whole, (None, None), 0.5).share(detector.counts)) * detector.counts.sum()
    share = float(bound.share(detector.counts))
    # Wilson's interval
    centre = (share + _TWO_SIGMA**2 / (2.0 * n)) / (1.0 + _TWO_SIGMA**2 / n)
    half = (
        _TWO_SIGMA / (1.0 + _TWO_SIGMA**2 / n) * math.sqrt(share * (1 - share) / n + _TWO_SIGMA**2 / (4 * n * n))
    )
    return (
        f"{watched.label} no longer holds: {share:.2f} ({centre - half:.2f} to {centre + half:.2f}) over the last "
        f"{n:,.0f} {rows}"
    )


def _tables(rates: Any) -> NDArray[np.float64]:
    """Return tables C[..., true, predicted] with these rates."""
    tpr, tnr, p = (np.asarray(one) for one in rates)
    cells = ((1 - p) * tnr, (1 - p) * (1 - tnr), p * (1 - tpr), p * tpr)
    return np.stack(cells, axis=-1).reshape(*tpr.shape, 2, 2)
