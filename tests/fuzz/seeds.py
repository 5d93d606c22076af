"""Whole files of every format, small, and the commands that read them."""

from __future__ import annotations

import gzip
import io
from typing import NamedTuple

import numpy as np
from scipy import sparse

ROWS = 120


class Seed(NamedTuple):
    """The files of one format, and what is done with a mutant; ``{}`` stands for its name."""

    ending: str
    files: list[bytes]
    commands: tuple[tuple[str, ...], ...]


def commands(*options: str) -> tuple[tuple[str, ...], ...]:
    return ("fit", "{}", *options, "-q", "-o", "made.skops"), (
        "predict",
        "model.skops",
        "{}",
        "-q",
        "-o",
        "out.csv",
    )


def numbers(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three columns, and labels that depend on the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3)).round(3)
    return X, (X[:, 0] + 0.3 * rng.normal(size=ROWS) > 0.5).astype(np.int64)


def arrow_table(seed: int = 0):
    import pyarrow as pa

    X, y = numbers(seed)
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    columns["colour"] = pa.array([("red", "green", None, "blue")[i % 4] for i in range(ROWS)])
    columns["kind"] = pa.array([("x", "yy", "zzz")[i % 3] for i in range(ROWS)]).dictionary_encode()
    columns["count"] = pa.array([None if i % 7 == 0 else i for i in range(ROWS)], pa.int32())
    return pa.table({**columns, "label": y})


def bytes_of(write, *arguments, **options) -> bytes:
    file = io.BytesIO()
    write(file, *arguments, **options)
    return file.getvalue()


def parquet(**options) -> bytes:
    import pyarrow.parquet as pq

    return bytes_of(lambda file: pq.write_table(arrow_table(), file, row_group_size=50, **options))


def feather(compression: str) -> bytes:
    from pyarrow import feather

    return bytes_of(lambda file: feather.write_feather(arrow_table(), file, compression=compression, chunksize=50))


def arrow_stream() -> bytes:
    import pyarrow as pa

    file = io.BytesIO()
    with pa.ipc.new_stream(file, arrow_table().schema) as writer:
        writer.write_table(arrow_table(), max_chunksize=50)
    return file.getvalue()


def csv(delimiter: str = ",") -> bytes:
    X, y = numbers()
    lines = [delimiter.join(["a", "b", "c", "colour", "label"])]
    lines += [delimiter.join([*map(str, X[i]), ("red", '"gr een"', "")[i % 3], str(y[i])]) for i in range(ROWS)]
    return "\n".join(lines).encode() + b"\n"


def svmlight() -> bytes:
    X, y = numbers()
    lines = [f"{y[i]} " + " ".join(f"{j + 1 + 5 * (i % 3)}:{X[i, j]}" for j in range(3)) for i in range(ROWS)]
    return "\n".join(lines).encode() + b"\n"


def npy(dtype: str, order: str = "C") -> bytes:
    return bytes_of(np.save, np.array(numbers()[0], dtype=dtype, order=order))


def good_files() -> dict[str, bytes]:
    """Return files that are there beside every mutant."""
    return {"good.csv": csv(), "good.svm": svmlight(), "labels.npy": bytes_of(np.save, numbers()[1])}


def npz(write=np.savez, **more) -> bytes:
    X, y = numbers()
    return bytes_of(write, X=X.astype(np.float32), y=y, **more)


def npz_csr(write=np.savez) -> bytes:
    X, y = numbers()
    X = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0).astype(np.float32))
    return bytes_of(write, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)


def all_seeds() -> dict[str, Seed]:
    names = np.array(["a", "b", "c"])
    to_column = commands("--target", "label")
    return {
        "parquet": Seed(".parquet", [parquet(compression="snappy"), parquet(compression="none")], to_column),
        "feather": Seed(".feather", [feather("lz4"), feather("zstd")], to_column),
        "arrow": Seed(".arrow", [feather("uncompressed")], to_column),
        "arrow-stream": Seed(".arrows", [arrow_stream()], to_column),
        "csv": Seed(".csv", [csv(), csv(";"), csv("\t")], to_column),
        "csv-gz": Seed(".csv.gz", [gzip.compress(csv(), mtime=0)], to_column),
        "svmlight": Seed(".svm", [svmlight()], commands()),
        "svmlight-gz": Seed(".svm.gz", [gzip.compress(svmlight(), mtime=0)], commands()),
        "npy": Seed(".npy", [npy("f4"), npy("f8", "F"), npy("i2")], commands("--target", "labels.npy")),
        "npz": Seed(".npz", [npz(), npz(np.savez_compressed), npz(feature_names=names)], commands()),
        "npz-csr": Seed(".npz", [npz_csr(), npz_csr(np.savez_compressed)], commands()),
    }


def _words(text: str) -> list[str]:
    return text.split()


MODEL_COMMANDS = (("inspect", "{}"), ("predict", "{}", "good.csv", "-q"), ("evaluate", "{}", "good.csv"))
COMMAND_LINES = (
    ("fit", "good.csv", "--target", "label", "-o", "made.skops", "--passes", "2", "--seed", "1"),
    ("fit", "good.svm", "--features", "20", "-o", "made.skops", "--measure", "gmean", "--solver", "auto"),
    ("predict", "model.skops", "good.csv", "-o", "out.csv", "--format", "csv"),
    ("evaluate", "model.skops", "good.csv", "--json"),
    ("inspect", "model.skops", "--json"),
    ("convert", "good.csv", "--target", "label", "-o", "out.parquet"),
    ("export", "model.skops", "out.onnx"),
    ("measures", "--json"),
)
WORDS = [
    *_words("- -- -o --target --features --weight --json --format --positive --seed -q --resume label a a,b a,a"),
    *_words(
        "0 1 -1 1e9 1000000000 99999999999999999999 nan 0.5 f1 gmean recall@precision=2 f1,f2 csv npz svmlight"
    ),
    *_words(
        "good.csv good.svm model.skops none.csv . * [ ~nobody no/such/folder good.csv/x out.parquet é ² colour"
    ),
    *_words("/dev/null /dev/zero /dev/full /dev/stdin /proc/self/mem"),
    *("", "x" * 100_000, "\0", "\x1b[31m"),
]
