"""The methods of the paper's experiments that ratewise is compared with, compiled in the same way."""

from .onepmb import OnePMB
from .plugin import LogisticBaseline, PlugIn
from .svmperf import SVMPerf

__all__ = ["LogisticBaseline", "OnePMB", "PlugIn", "SVMPerf"]
