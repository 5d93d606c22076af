"""How many small mistakes the tests would notice: mutants of the source, each run against the tests of its folder.

    python benchmarks/mutants.py --number 60 --seed 0 measures solvers training kernels

A mutant is one change of an ordinary kind in one function: a sign, a comparison, a constant, swapped arguments, a
dropped term or factor, a condition turned round. It is made in memory, in a process forked from one that has
imported everything, by replacing the code of the live function; a compiled loop is compiled again. The quick tests
of its folder run until one fails. Survivors are printed: each asks for a test, or is equivalent to the original.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import importlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ratewise"

TESTS = {
    "measures": ["tests/measures"],
    "kernels": ["tests/kernels", "tests/streams/formats/test_svmlight.py"],
    "solvers": ["tests/solvers"],
    "training": ["tests/training"],
    "transforms.py": ["tests/test_transforms.py"],
    "streams/shuffle.py": ["tests/streams"],
    "distributed": ["tests/distributed"],
}
# What cannot be replaced while it runs: operations that others took over by name, and hand-written LLVM.
_NAMES = ("_llvm", "_operations", "_cache", "numba_types", "rows")
LEFT_OUT = {f"kernels/{name}.py" for name in _NAMES}

_SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_ERRORS = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


class Mutant(NamedTuple):
    path: Path
    line: int
    what: str
    tree: ast.Module
    function: str
    """The qualified name of the outermost function that holds it."""

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line} in {self.function}: {self.what}"


class Site(NamedTuple):
    """Where a change can be made: a node of a function, and which of the changes it allows."""

    path: Path
    function: str
    node: Any
    number: int

    def mutant(self) -> Mutant | None:
        """Make the change; None if it changes nothing."""
        tree = ast.parse(self.path.read_text())
        node = next(one for one in ast.walk(tree) if _same_place(one, self.node))
        what, change = _changes(node)[self.number]
        before = ast.unparse(node)
        changed = change()
        if changed is not node:
            tree = _Replace(node, changed).visit(tree)
        after = ast.unparse(changed)
        text = f"{what}: {before[:70]} -> {after[:70]}"
        if after == before:
            return None
        return Mutant(self.path, self.node.lineno, text, ast.fix_missing_locations(tree), self.function)


def sites_of(path: Path) -> Iterator[Site]:
    for name, function in _functions(ast.parse(path.read_text()).body, ""):
        for node in _nodes(function):
            yield from (Site(path, name, node, number) for number in range(len(_changes(node))))


def _functions(body: list[ast.stmt], inside: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name not in ("__repr__", "label"):
            yield inside + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{inside}{node.name}.")


def _nodes(function: ast.FunctionDef) -> Iterator[Any]:
    """Yield the nodes of the body, except for those of messages, annotations and decorators."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _ERRORS):
            continue
        if hasattr(node, "lineno"):
            yield node
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                inner = value if isinstance(value, list) else [value]
                waiting += [one for one in inner if isinstance(one, ast.AST)]


def _changes(node: Any) -> list[tuple[str, Any]]:
    """Return the kinds of change that a node allows, each with a function that returns the changed node."""
    match node:
        case ast.BinOp(op=op) if type(op) in _SWAPPED:
            return [
                ("operator", lambda: _with(node, "op", _SWAPPED[type(op)]())),
                ("dropped term", lambda: node.left),
            ]
        case ast.AugAssign(op=op) if type(op) in _SWAPPED:
            return [("operator", lambda: _with(node, "op", _SWAPPED[type(op)]()))]
        case ast.Compare(ops=[op]) if type(op) in _SWAPPED:
            return [("comparison", lambda: _with(node, "ops", [_SWAPPED[type(op)]()]))]
        case ast.BoolOp(op=op):
            return [("operator", lambda: _with(node, "op", _SWAPPED[type(op)]()))]
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return [("sign", lambda: node.operand)]
        case ast.Constant(value=bool() as value):
            return [("constant", lambda: _with(node, "value", not value))]
        case ast.Constant(value=int() as value):
            return [("constant", lambda: _with(node, "value", value + 1))]
        case ast.Constant(value=float() as value):
            return [("constant", lambda: _with(node, "value", 1.5 * value + 0.1))]
        case ast.Call(args=[first, second, *_]) if ast.unparse(first) != ast.unparse(second):
            return [("swapped arguments", lambda: _with(node, "args", [second, first, *node.args[2:]]))]
        case ast.If() | ast.IfExp() | ast.While():
            return [("condition", lambda: _with(node, "test", ast.UnaryOp(ast.Not(), node.test)))]
    return []


def _with(node: Any, field: str, value: Any) -> Any:
    setattr(node, field, value)
    return node


def _same_place(one: Any, other: Any) -> bool:
    place = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return type(one) is type(other) and all(getattr(one, at, None) == getattr(other, at, None) for at in place)


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else self.generic_visit(node)


def module_of(path: Path) -> ModuleType:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def apply(mutant: Mutant) -> None:
    """Give the live function the mutant's code."""
    module = module_of(mutant.path)
    codes = {code.co_qualname: code for code in _codes(compile(mutant.tree, str(mutant.path), "exec"))}
    function = _live(module, mutant.function)
    # A function that was renamed for its cache file keeps its code's name.
    function.__code__ = codes[mutant.function].replace(co_name=function.__code__.co_name)
    if mutant.path.parent.name == "kernels":
        _compile_again(function.__name__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _live(module: ModuleType, name: str) -> FunctionType:
    found: Any = module
    for part in name.split("."):
        found = vars(found)[part]
    found = getattr(found, "py_func", found)
    if isinstance(found, property):
        found = found.fget
    found = getattr(found, "func", getattr(found, "__func__", found))  # cached_property, classmethod
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    if not isinstance(found, FunctionType):
        raise LookupError(name)
    return found


def _compile_again(name: str) -> None:
    """Keep the loops that call this function, or one that does, from being read from disk."""
    from numba.core.caching import NullCache
    from numba.core.dispatcher import Dispatcher

    kernels = [value for name, value in sys.modules.items() if name.startswith("ratewise.kernels.")]
    loops = {key: value for one in kernels for key, value in vars(one).items() if isinstance(value, Dispatcher)}
    changed = {name}
    for _ in loops:
        changed |= {key for key, loop in loops.items() if changed & set(loop.py_func.__code__.co_names)}
    for key in changed & loops.keys():
        loops[key]._cache = NullCache()


def run_tests(tests: list[str], mutant: Mutant | None, seconds: float) -> str:
    """Return "killed", "survived", "timeout" or "skipped", of a forked process that runs the tests."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.alarm(int(seconds) + 5)  # not to outlive a parent that was stopped
        code = 3
        with contextlib.suppress(BaseException):
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            code = _run_in_child(tests, mutant)
        os._exit(code)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            outcomes = {0: "survived", 1: "killed", 2: "killed", 4: "skipped"}
            return outcomes.get(os.waitstatus_to_exitcode(status), "killed")
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _run_in_child(tests: list[str], mutant: Mutant | None) -> int:
    import pytest

    if mutant is not None:
        try:
            apply(mutant)
        except (LookupError, KeyError, ValueError):
            return 4
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was imported before pytest began
    return int(pytest.main([*options, *(str(ROOT / test) for test in tests)]))


def files_of(part: str) -> list[Path]:
    path = SOURCE / part
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file for file in files if str(file.relative_to(SOURCE)) not in LEFT_OUT]


@functools.cache
def tests_of(part: str) -> tuple[list[str], float]:
    """Return the tests of a part and how long they take without a mutant; they must pass."""
    tests = next(tests for name, tests in TESTS.items() if part == name or part.startswith(name.rstrip("/") + "/"))
    began = time.monotonic()
    outcome = run_tests(tests, None, 600.0)
    if outcome != "survived":
        raise SystemExit(f"{' '.join(tests)}: the tests fail without a mutant ({outcome}).")
    return tests, time.monotonic() - began


def _nearest_first(tests: list[str], path: Path) -> list[str]:
    """Return the tests with those of the file's own name first: most mutants then die at once."""
    own = [str(found.relative_to(ROOT)) for test in tests for found in (ROOT / test).glob(f"test_{path.stem}*.py")]
    return own + tests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["measures", "kernels", "solvers", "training"])
    parser.add_argument("--number", type=int, default=40, help="Mutants of each part.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="For each part; then the score so far is printed."
    )
    arguments = parser.parse_args()
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="mutants")  # the loops of mutants are not to stay
    os.chdir(ROOT)
    for name in ("pytest", "hypothesis", "sklearn.linear_model", "ratewise.estimators", "ratewise.streams"):
        importlib.import_module(name)
    for part in arguments.parts:
        report(part, arguments.number, arguments.seed, time.monotonic() + 60.0 * arguments.minutes)


def report(part: str, number: int, seed: int, deadline: float) -> None:
    """Run a sample of the mutants of a part, and print those that survive."""
    tests, usual = tests_of(part)
    files = files_of(part)
    for file in files:
        module_of(file)
    every = [site for file in files for site in sites_of(file)]
    sample = [site.mutant() for site in random.Random(seed).sample(every, min(number, len(every)))]
    outcomes: dict[str, int] = {}
    for mutant in filter(None, sample):
        if time.monotonic() > deadline:
            break
        outcome = run_tests(_nearest_first(tests, mutant.path), mutant, 20.0 + 5.0 * usual)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome == "survived":
            print(f"  survived: {mutant}", flush=True)
    dead = outcomes.get("killed", 0) + outcomes.get("timeout", 0)
    run = dead + outcomes.get("survived", 0)
    share = f"{dead / run:.0%}" if run else "-"
    print(f"{part}: {dead} of {run} mutants killed ({share}) of {len(every)}; {outcomes}", flush=True)


if __name__ == "__main__":
    main()
