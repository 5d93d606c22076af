"""Neural networks trained for the measure you report: a loss for PyTorch, and the best threshold of its logits."""

from ._loss import MeasureLoss, best_threshold

__all__ = ["MeasureLoss", "best_threshold"]
