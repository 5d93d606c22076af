"""A format is one module and one line of the registry."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

from ratewise.cli._options import FORMATS as CHOICES
from ratewise.streams import formats, open_stream

MODULE = """
import numpy as np
from ratewise.streams.formats import Opened, Reader, Rows, matrix_encoder

class RawReader(Reader):
    def __init__(self, path):
        self._X = np.fromfile(path, dtype=np.float32).reshape(-1, 3)
        super().__init__(path, [len(self._X)])

    def read(self, piece, batch_rows):
        yield Rows(len(self._X), self._X[:, :2], self._X[:, 2], None, self.place(piece))

def open_files(paths, request):
    return Opened([RawReader(path) for path in paths], matrix_encoder(2, paths[0], request), "label")
"""


def test_a_format_is_one_module_and_one_line(tmp_path, monkeypatch):
    (tmp_path / "raw.py").write_text(MODULE)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    monkeypatch.setitem(formats.FORMATS, "raw", formats.Format("raw", (".raw",)))
    monkeypatch.delitem(sys.modules, "ratewise.streams.formats.raw", raising=False)
    importlib.invalidate_caches()
    rows = np.array([[1, 2, 0], [3, 4, 1]], dtype=np.float32)
    rows.tofile(tmp_path / "rows.raw")
    (window,) = open_stream(tmp_path / "rows.raw").windows()
    assert window.X.tolist() == [[1, 2], [3, 4]]
    assert window.labels.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"format must be one of parquet.*, raw"):
        open_stream(tmp_path / "rows.raw", format="excel")
    sys.modules.pop("ratewise.streams.formats.raw")


@pytest.mark.parametrize("name", formats.FORMATS)
def test_every_format_has_a_module_that_opens_files(name):
    assert callable(formats.FORMATS[name].open_files)


def test_the_command_line_offers_every_format():
    assert list(CHOICES) == list(formats.FORMATS)
