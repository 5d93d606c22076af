"""The methods ratewise is compared with in the paper's experiments, compiled as ratewise itself is."""

from .onepmb import OnePMB
from .plugin import LogisticBaseline, PlugIn
from .svmperf import SVMPerf

__all__ = ["LogisticBaseline", "OnePMB", "PlugIn", "SVMPerf"]
