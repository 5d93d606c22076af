"""MeasureLoss: the measure as the loss of a network."""

from __future__ import annotations

import copy
import io
import socket

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ratewise.decisions.cuts import best_threshold as best_cut  # noqa: E402
from ratewise.measures import get_measure  # noqa: E402
from ratewise.torch import MeasureLoss, best_threshold  # noqa: E402


def mini_batches(number: int, seed: int = 0, rows: int = 64):
    """Logits that tell something of rare labels."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(number):
        labels = (torch.rand(rows, generator=generator) < 0.2).float()
        yield 1.5 * labels - 1.0 + torch.randn(rows, generator=generator), labels


def test_the_first_steps_are_plain_cross_entropy():
    logits, labels = next(mini_batches(1))
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
    assert MeasureLoss("f1")(logits, labels) == pytest.approx(float(expected))


def test_class_weights_are_the_slopes_of_the_measure_per_row_at_the_best_threshold():
    loss = MeasureLoss("gmean", sharpen_after=0, refresh=1, memory=10**9)
    seen = list(mini_batches(40))
    for _ in range(3):  # half-way to the slopes at each step
        for logits, labels in seen:
            loss(logits, labels)
    scores = torch.cat([logits for logits, _ in seen]).numpy().astype(float)
    signs = 2.0 * torch.cat([labels for _, labels in seen]).numpy() - 1.0
    rates = best_cut(scores, signs, get_measure("gmean")).rates
    on_tpr, on_tnr = get_measure("gmean").slopes(*rates)
    ratio = on_tpr / rates.prevalence / (on_tnr / (1.0 - rates.prevalence))
    on_negative, on_positive = loss.class_weights[0].tolist()
    assert on_positive / on_negative == pytest.approx(ratio, rel=0.1)
    assert rates.prevalence * on_positive + (1 - rates.prevalence) * on_negative == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(("measure", "least", "most"), [("f1", 1.0, 2.5), ("gmean", 3.0, 4.5)])
def test_before_that_they_suit_the_measure_at_the_rates_of_a_fair_model(measure, least, most):
    loss = MeasureLoss(measure, refresh=1)
    for logits, labels in mini_batches(40):
        loss(logits, labels)
    on_negative, on_positive = loss.class_weights[0].tolist()
    assert least < on_positive / on_negative < most


def test_sharpening_is_bounded_and_as_steep_as_cross_entropy_at_the_threshold():
    loss = MeasureLoss("f1", sharpen_after=32)
    for logits, labels in mini_batches(64):
        loss(logits, labels)
    loss.eval()
    assert loss.sharpening
    at_the_cut = loss.threshold.clone().requires_grad_()
    loss(at_the_cut, torch.ones(1)).backward()
    assert -float(at_the_cut.grad) == pytest.approx(0.5 * float(loss.class_weights[0, 1]), rel=1e-5)
    far = loss(torch.tensor([-1e4]), torch.ones(1))
    assert float(far) == pytest.approx(2.0 * float(loss.width * loss.class_weights[0, 1]), rel=1e-5)


def test_a_network_that_fits_its_rows_keeps_cross_entropy():
    loss = MeasureLoss("f1", sharpen_after=0, refresh=1)
    for logits, labels in mini_batches(20):
        loss(logits + 20.0 * (labels - 0.5), labels)
    assert not loss.sharpening


def test_sharpening_can_be_called_for():
    loss = MeasureLoss("f1")
    assert not loss.sharpening
    loss.sharpen()
    assert loss.sharpening


def test_nothing_is_counted_in_eval_mode():
    loss = MeasureLoss("f1", refresh=1).eval()
    before = copy.deepcopy(loss.state_dict())
    for logits, labels in mini_batches(3):
        loss(logits, labels)
    assert all(
        torch.equal(torch.as_tensor(before[k]), torch.as_tensor(loss.state_dict()[k])) for k in loss._buffers
    )


def test_a_checkpoint_goes_on_where_it_was():
    batches = list(mini_batches(60))
    whole = MeasureLoss("f1", sharpen_after=30)
    for batch in batches[:41]:
        whole(*batch)
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    file.seek(0)
    resumed = MeasureLoss("f1", sharpen_after=30)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for batch in batches[41:]:
        assert torch.equal(whole(*batch), resumed(*batch))


def test_a_mini_batch_may_lack_a_class():
    loss = MeasureLoss("f1", refresh=1)
    for _ in range(3):
        value = loss(torch.randn(8), torch.zeros(8))
    assert torch.isfinite(value)


def test_two_columns_count_by_their_difference():
    (logits, labels), (two, one) = next(mini_batches(1)), (MeasureLoss("min"), MeasureLoss("min"))
    columns = torch.stack([-0.5 * logits, 0.5 * logits], dim=1)
    assert float(two(columns, labels.long())) == pytest.approx(float(one(logits, labels)))


def test_labels_are_learned_each_on_its_own():
    several = MeasureLoss("f1", n_labels=2, refresh=2)
    first, second = MeasureLoss("f1", refresh=2), MeasureLoss("f1", refresh=2)
    for a, b in zip(mini_batches(20, seed=1), mini_batches(20, seed=2), strict=True):
        logits, labels = torch.stack([a[0], 2.0 * b[0]], dim=1), torch.stack([a[1], b[1]], dim=1)
        together = several(logits, labels)
        apart = 0.5 * (first(*a) + second(2.0 * b[0], b[1]))
        assert float(together) == pytest.approx(float(apart), rel=1e-5)


def test_sample_weights_count_rows_so_many_times():
    weighted, repeated = MeasureLoss("f1", refresh=1, memory=10**9), MeasureLoss("f1", refresh=1, memory=10**9)
    for logits, labels in mini_batches(30):
        two = torch.full_like(labels, 2.0)
        by_weight = weighted(logits, labels, sample_weight=two)
        by_rows = repeated(logits.repeat(2), labels.repeat(2))
        assert float(by_weight) == pytest.approx(2.0 * float(by_rows), rel=1e-4)


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (torch.tensor([0.0, torch.nan]), torch.tensor([0.0, 1.0]), "NaN or infinite"),
        (torch.zeros(2), torch.tensor([1.0, 2.0]), "labels must be 0 or 1"),
        (torch.zeros(2), torch.tensor([-1.0, 1.0]), "labels must be 0 or 1"),
        (torch.zeros(2, 3), torch.zeros(2), "do not fit n_labels=1"),
        (torch.zeros(3), torch.zeros(2), "do not fit n_labels=1"),
        (torch.tensor(0.0), torch.tensor(1.0), "a row per example"),
    ],
)
def test_bad_input_is_refused_in_words(logits, labels, message):
    with pytest.raises(ValueError, match=message):
        MeasureLoss("f1")(logits, labels)


@pytest.mark.parametrize("setting", [{"refresh": 0}, {"memory": -1}, {"n_labels": 1.5}, {"sharpen_after": -2}])
def test_bad_settings_are_refused(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        MeasureLoss("f1", **setting)


def test_the_best_threshold_is_the_library_s_own():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=200), (rng.random(200) < 0.3).astype(int)
    expected = best_cut(logits.astype(np.float32).astype(float), 2.0 * labels - 1.0, get_measure("f1"))
    assert best_threshold(logits, labels) == expected


@pytest.mark.slow
def test_a_network_learns_a_measure_that_cross_entropy_neglects():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(4000, 2, generator=generator)
    labels = (rows[:, 0] + torch.randn(4000, generator=generator) > 2.2).float()
    torch.manual_seed(0)
    network, loss = torch.nn.Linear(2, 1), MeasureLoss("gmean", sharpen_after=200)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(300):
        optimizer.zero_grad()
        loss(network(rows).squeeze(1), labels).backward()
        optimizer.step()
    calls = (network(rows).squeeze(1) > loss.threshold).float().detach()
    assert get_measure("gmean").score(labels.numpy(), calls.numpy()) > 0.8


def _one_process(rank: int, port: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    loss = MeasureLoss("f1", refresh=2)
    for k, (logits, labels) in enumerate(mini_batches(40)):
        if k % 2 == rank:
            loss(logits, labels)
    torch.save(loss.state_dict(), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_processes_share_their_counts(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_one_process, args=(port, str(tmp_path)), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    alone = MeasureLoss("f1", refresh=4)
    for logits, labels in mini_batches(40):
        alone(logits, labels)
    assert torch.equal(first["counts"], second["counts"])
    torch.testing.assert_close(first["counts"], alone.counts)
    torch.testing.assert_close(first["class_weights"], alone.class_weights)
