"""Neural networks trained for the measure you report: a loss for PyTorch, and the best threshold of its logits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .decisions.cuts import BestThreshold, ScoreBins
from .decisions.cuts import best_threshold as best_cut
from .measures import Measure, get_measure
from .solvers.base import Scores, require_number
from .solvers.evaluate import Evaluated, Evaluation
from .training.selection import natural_exponent

__all__ = ["MeasureLoss", "best_threshold"]

try:
    import torch
    from torch import distributed, nn
    from torch.nn import functional
except ImportError as error:  # pragma: no cover - torch is an extra
    raise ImportError("ratewise.torch needs PyTorch: pip install 'ratewise[torch]'") from error

if TYPE_CHECKING:
    from torch import Tensor

_BINS = ScoreBins(-16.0, 1.0 / 16.0, 512)  # for logits; the outermost bins hold all beyond
_ENOUGH_POINTS = 20  # of each class: with fewer points the rates mean little
_SOFTNESS = 0.05  # as Sharpen's
_FITTED = 0.97  # share of the way from a useless to a perfect value, on the rows counted
_NARROWEST = 0.25  # width of a sigmoid, in logits: a narrower one learns from almost no row of a mini-batch


class MeasureLoss(nn.Module):
    """Train a network for the measure you report, in place of ``BCEWithLogitsLoss``.

    In training mode the module counts the logits of the rows that pass through it, by class, and forgets old rows
    gradually. The first ``sharpen_after`` steps use cross-entropy with class weights that suit the measure at the
    rates of a fair model. Later steps use a sigmoid reward around the best threshold of the counts, weighted by
    the measure's slopes at the two rates there. Threshold and weights are updated every ``refresh`` steps. The
    reward is bounded, as the measure is: rows that the network cannot classify no longer dominate the gradient. A
    network that classifies nearly all of its training rows has no such rows: it keeps cross-entropy, and margins
    grow.

    Choose the threshold on validation rows at the end: :func:`best_threshold`.

    Parameters
    ----------
    measure : str, Measure or function of (tpr, tnr), default="f1"
    sharpen_after : int or None, default=None
        Training steps with cross-entropy, before the sigmoid reward begins: half of all steps is a good choice.
        None keeps cross-entropy until :meth:`sharpen` is called.
    n_labels : int, default=1
        The number of columns of logits and labels, one per label: the mean of their losses is returned (for the
        macro average of the measure). 1 for two classes.
    memory : int, default=20_000
        The number of rows after which half of the counts is forgotten.
    refresh : int, default=16
        The number of steps between two updates of the class weights.

    Notes
    -----
    The whole state is in buffers, so ``state_dict`` keeps it and ``to(device)`` moves it. In eval mode
    nothing is counted. Where ``torch.distributed`` is initialized the counts of all processes are summed at every
    refresh, so that all have the same class weights. A mini-batch may lack a class: weights follow the share of
    positives among the rows counted, not the mini-batch.

    Examples
    --------
    >>> import torch
    >>> from ratewise.torch import MeasureLoss, best_threshold
    >>> rows = torch.randn(512, 4, generator=torch.Generator().manual_seed(0))
    >>> labels = (rows[:, 0] > 1.2).float()
    >>> network, loss = torch.nn.Linear(4, 1), MeasureLoss("f1", sharpen_after=150)
    >>> optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    >>> for step in range(200):
    ...     optimizer.zero_grad()
    ...     loss(network(rows).squeeze(1), labels).backward()
    ...     optimizer.step()
    >>> best_threshold(network(rows).squeeze(1), labels, "f1").value > 0.9
    True
    """

    counts: Tensor
    class_weights: Tensor
    threshold: Tensor
    width: Tensor
    _recent: Tensor

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        sharpen_after: int | None = None,
        n_labels: int = 1,
        memory: int = 20_000,
        refresh: int = 16,
    ):
        super().__init__()
        for name, value in (("n_labels", n_labels), ("memory", memory), ("refresh", refresh)):
            require_number(name, value, "MeasureLoss", low=0, whole=True)
        if sharpen_after is not None:
            require_number("sharpen_after", sharpen_after, "MeasureLoss", low=-1, whole=True)
        self.measure = get_measure(measure)
        self.sharpen_after, self.n_labels, self.memory, self.refresh = sharpen_after, n_labels, memory, refresh
        self.register_buffer("counts", torch.zeros(n_labels, 2, _BINS.number))  # of negatives, then of positives
        self.register_buffer("_recent", torch.zeros(n_labels, 2, _BINS.number))
        self.register_buffer("class_weights", torch.ones(n_labels, 2))  # of a negative and of a positive row
        self.register_buffer("threshold", torch.zeros(n_labels))
        self.register_buffer("width", torch.ones(n_labels))
        # On the host: reading a buffer would wait for the device at every step.
        self._steps = self._recent_rows = 0
        self._fits = False  # nearly all training rows are classified correctly
        self._waiting: list[tuple[Tensor, Tensor, Tensor | None]] = []

    def sharpen(self) -> None:
        """Change from cross-entropy to the sigmoid reward now."""
        self.sharpen_after = self._steps

    def get_extra_state(self) -> dict[str, Any]:
        """Return the state that ``state_dict`` keeps in addition to the buffers."""
        return {"steps": self._steps, "recent_rows": self._recent_rows, "fits": self._fits}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self._steps, self._recent_rows = int(state["steps"]), int(state["recent_rows"])
        self._fits = bool(state["fits"])

    @property
    def sharpening(self) -> bool:
        """Whether the loss is the sigmoid reward."""
        begun = self.sharpen_after is not None and self._steps >= self.sharpen_after
        return begun and not self._fits

    def forward(self, logits: Tensor, labels: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the mean loss of a mini-batch.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1), (n, 2) for two classes, or (n, n_labels)
            With two columns, their difference is the logit, as for softmax.
        labels : tensor of the same number of rows, of 0 and 1
        sample_weight : tensor of shape (n,), optional
        """
        scores, truth = _in_columns(logits, labels, self.n_labels)
        if self.training:
            self._count(scores.detach(), truth, sample_weight)
        else:
            _require_valid(scores, truth)
        on_negatives, on_positives = self.class_weights.unbind(1)
        weights = torch.lerp(on_negatives, on_positives, truth)
        if sample_weight is not None:
            weights = weights * sample_weight.to(weights).reshape(-1, 1)
        signs = 2.0 * truth - 1.0
        if self.sharpening:
            # Twice the width makes the slope at the threshold that of cross-entropy: the step size stays right.
            losses = 2.0 * self.width * torch.sigmoid(signs * (self.threshold - scores) / self.width)
        else:
            losses = functional.softplus(-signs * scores)
        loss: Tensor = (weights * losses).mean()
        return loss

    def _count(self, scores: Tensor, truth: Tensor, sample_weight: Tensor | None) -> None:
        """Store a mini-batch; at a refresh, add all mini-batches since the last refresh to the counts."""
        self._waiting.append((scores, truth, sample_weight))
        self._steps += 1
        if self._steps == 1:
            _require_valid(scores, truth)
        if self._steps % self.refresh == 0:
            self._count_waiting()
            self._merge_counts()
            self._set_weights()

    @torch.no_grad()
    def _count_waiting(self) -> None:
        """Count by label, class and bin, once for many steps: each time it costs a tenth of a small step."""
        if not self._waiting:
            return
        scores, truth = (torch.cat([batch[k] for batch in self._waiting]) for k in (0, 1))
        weights = torch.cat([_row_weights(*batch) for batch in self._waiting])
        self._waiting.clear()
        _require_valid(scores, truth)
        bins = ((scores - _BINS.low) / _BINS.width).long().clamp_(0, _BINS.number - 1)
        labels = torch.arange(self.n_labels, device=scores.device)
        where = (labels * 2 + truth.long()) * _BINS.number + bins
        self._recent.view(-1).index_add_(0, where.reshape(-1), weights.reshape(-1))
        self._recent_rows += scores.shape[0]

    def _save_to_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._count_waiting()
        super()._save_to_state_dict(*args, **kwargs)

    def _merge_counts(self) -> None:
        """Add the rows since the last refresh, of all processes, to the counts; decay older ones."""
        rows = self._recent_rows
        if distributed.is_available() and distributed.is_initialized():
            distributed.all_reduce(self._recent)
            rows *= distributed.get_world_size()
        self.counts.mul_(0.5 ** (rows / self.memory)).add_(self._recent)
        self._recent.zero_()
        self._recent_rows = 0

    def _set_weights(self) -> None:
        """Set the class weights and the threshold of every label from its counts."""
        shares = []
        sharpening = self.sharpening
        for label, counts in enumerate(self.counts.double().cpu().numpy()):
            totals = counts.sum(axis=1)
            if totals.min() < _ENOUGH_POINTS:
                continue
            evaluation, evaluated = self._evaluated(counts, totals)
            width, share = evaluation.sigmoid_width(evaluated), evaluated.best.rates.prevalence
            if sharpening:
                on_positive, on_negative = evaluation.class_weights(evaluated, width)
            else:  # slopes at the poor rates of the first steps would outweigh all negatives
                on_positive, on_negative = ((1.0 - share) / share) ** natural_exponent(self.measure, share), 1.0
            mean = share * on_positive + (1.0 - share) * on_negative
            asked = torch.tensor([on_negative / mean, on_positive / mean])
            before = self.class_weights[label].cpu()
            self.class_weights[label] = torch.sqrt(asked * before).to(self.class_weights)
            self.threshold[label] = evaluated.best.threshold
            if not sharpening:  # a width that followed the logits would let them grow without limit
                self.width[label] = max(width, _NARROWEST)
            useless, perfect = self.measure.scale(share)
            shares.append((evaluated.value - useless) / (perfect - useless))
        self._fits = bool(shares) and min(shares) > _FITTED

    def _evaluated(self, counts: Any, totals: Any) -> tuple[Evaluation, Evaluated]:
        negatives, positives = totals
        scores = Scores(*_BINS.as_scores(counts), (float(positives), float(negatives)))
        evaluation = Evaluation(self.measure, float(positives / (positives + negatives)), _SOFTNESS)
        return evaluation, evaluation.of(scores)


def _row_weights(scores: Tensor, truth: Tensor, sample_weight: Tensor | None) -> Tensor:
    ones = torch.ones_like(scores)
    return ones if sample_weight is None else ones * sample_weight.to(ones).reshape(-1, 1)


def best_threshold(logits: Any, labels: Any, measure: str | Measure = "f1") -> BestThreshold:
    """Return the best threshold of logits for a measure: every cut between two different logits is tried.

    Use validation rows. A row is predicted positive if its logit is above the threshold.

    Parameters
    ----------
    logits : tensor or array of shape (n,), (n, 1) or (n, 2)
    labels : tensor or array of shape (n,) or (n, 1), of 0 and 1
    measure : str, Measure or function of (tpr, tnr)

    Returns
    -------
    BestThreshold
        (threshold, value, rates)

    Examples
    --------
    >>> best_threshold([-2.0, 0.5, 1.0, 3.0], [0, 0, 1, 1], "f1").threshold
    0.75
    """
    scores, truth = _in_columns(torch.as_tensor(logits).detach(), torch.as_tensor(labels), 1)
    _require_valid(scores, truth)
    signs = 2.0 * truth.reshape(-1).double().cpu().numpy() - 1.0
    return best_cut(scores.reshape(-1).double().cpu().numpy(), signs, get_measure(measure))


def _in_columns(logits: Tensor, labels: Tensor, n_labels: int) -> tuple[Tensor, Tensor]:
    """Return logits and labels as float columns, one per label."""
    if logits.ndim == 0 or labels.ndim == 0:
        raise ValueError("logits and labels must have a row per example; got a single number.")
    of_two_classes = n_labels == 1 and logits.ndim == 2 and logits.shape[1] == 2
    column = logits[:, 1] - logits[:, 0] if of_two_classes else logits
    scores, truth = column.float().reshape(logits.shape[0], -1), labels.reshape(labels.shape[0], -1)
    if scores.shape != truth.shape or scores.shape[1] != n_labels:
        raise ValueError(
            f"logits of shape {tuple(logits.shape)} and labels of shape {tuple(labels.shape)} do not fit "
            f"n_labels={n_labels}: give both one column per label."
        )
    return scores, truth.to(scores)


def _require_valid(scores: Tensor, truth: Tensor) -> None:
    if not bool(torch.isfinite(scores).all()):
        raise ValueError(
            "logits hold NaN or infinite values: the training has diverged, or a row holds such a value. Try a "
            "smaller learning rate, clip the gradients, or look for NaN in the rows."
        )
    if not bool(((truth == 0) | (truth == 1)).all()):
        raise ValueError("labels must be 0 or 1.")
