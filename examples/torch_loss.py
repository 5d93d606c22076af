"""A network trained for F1 with PyTorch: compared with the same network trained with cross-entropy.

Positives lie on a ring, 2.5% of the rows, and more than half of the ring's labels are lost. A training loop needs
two changes: the loss, and a threshold chosen on validation rows. Needs the extra ``torch``.
"""

import torch
from torch import nn

from ratewise.measures import FBeta
from ratewise.torch import MeasureLoss, best_threshold


def make_rows(number: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(number, 6, generator=generator)
    on_the_ring = (rows[:, :2].norm(dim=1) - 2.2).abs() < 0.15
    lost = torch.rand(number, generator=generator) < 0.6
    return rows, (on_the_ring & ~lost).float()


def train(loss: nn.Module, rows: torch.Tensor, labels: torch.Tensor, epochs: int = 15) -> nn.Module:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(epochs):
        for batch in torch.randperm(labels.numel()).split(256):
            optimizer.zero_grad()
            loss(network(rows[batch]), labels[batch]).backward()
            optimizer.step()
    return network


def main() -> None:
    rows, labels = make_rows(20_000, seed=0)
    validation_rows, validation_labels = make_rows(10_000, seed=1)
    test_rows, test_labels = make_rows(50_000, seed=2)
    print(f"{100 * labels.mean():.1f}% positive")
    losses = {"cross-entropy": nn.BCEWithLogitsLoss(), "MeasureLoss": MeasureLoss("f1", sharpen_after=800)}
    for name, loss in losses.items():
        network = train(loss, rows, labels)
        with torch.no_grad():
            cut = best_threshold(network(validation_rows), validation_labels, "f1").threshold
            predicted = (network(test_rows) > cut).float()
        print(f"{name:14} F1 on test rows {FBeta(1.0).score(test_labels.numpy(), predicted.numpy()):.3f}")


if __name__ == "__main__":
    main()
