"""A fit from a stream in a process of its own, to be killed: writes the model, and says where it stands.

python killed_fit.py ROWS.npz CHECKPOINT MODEL.npy
"""

from __future__ import annotations

import sys

import numpy as np

from ratewise import MeasureClassifier, open_stream


def fit(rows, checkpoint=None, progress=None):
    classifier = MeasureClassifier("f1", random_state=5)
    stream = open_stream(rows, window_rows=4000)
    return classifier.fit_stream(stream, 4, checkpoint=checkpoint, checkpoint_every=8000, progress=progress)


if __name__ == "__main__":
    rows, checkpoint, model = sys.argv[1:]
    fitted = fit(rows, checkpoint, lambda report: print(report["stage"], report["done_rows"], flush=True))
    np.save(model, np.append(fitted.coef_, fitted.intercept_))
