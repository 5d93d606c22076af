"""The paper's theorems, measured. To add one: a file and its line."""

from __future__ import annotations

from .amp_rate import AmpRate
from .noisy_amp import NoisyAmp
from .series import Panel, Series, TheoryResults
from .spade_excess import SpadeExcess
from .stamp_samples import StampSamples

PANELS: list[Panel] = [SpadeExcess(), AmpRate(), StampSamples(), NoisyAmp()]

__all__ = ["PANELS", "Panel", "Series", "TheoryResults"]
