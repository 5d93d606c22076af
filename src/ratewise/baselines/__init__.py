"""What ratewise is compared with: the methods of the paper's experiments, compiled as well as ours."""

from .logistic import LogisticBaseline
from .onepmb import OnePMB
from .plugin import PlugIn
from .svmperf import SVMPerf

__all__ = ["LogisticBaseline", "OnePMB", "PlugIn", "SVMPerf"]
