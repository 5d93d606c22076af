"""The methods from the paper's experiments to which ratewise is compared, compiled in the same way."""

from .onepmb import OnePMB
from .plugin import LogisticBaseline, PlugIn
from .svmperf import SVMPerf

__all__ = ["LogisticBaseline", "OnePMB", "PlugIn", "SVMPerf"]
