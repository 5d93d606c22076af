"""How many small mistakes the tests would notice: mutants of the source, each run against the tests of its folder.

    python benchmarks/mutants.py --number 60 --seed 0 measures solvers training kernels

A mutant is one change of an ordinary kind in one function: a sign, a comparison, a constant, swapped arguments, a
dropped term or factor, a condition turned round. It is made in memory, in a process forked from one that has
imported everything, by replacing the code of the live function; a compiled loop is compiled again. The quick tests
of its folder run until one fails. Survivors are printed: each asks for a test, or is equivalent to the original.

Left out is what changes words only: messages of errors with what prepares them, assertions, annotations, labels.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ratewise"
KEPT = Path(tempfile.gettempdir()) / "ratewise-mutants"  # compiled loops and traces

TESTS = {
    "measures": ["tests/measures"],
    "kernels": ["tests/kernels", "tests/streams/formats/test_svmlight.py"],
    "solvers": ["tests/solvers", "tests/training/test_batches.py"],
    "training": [
        "tests/training",
        "tests/estimators/test_any_order.py",
        "tests/estimators/test_classifier.py",
        "tests/estimators/test_many_classes.py",
    ],
    "transforms.py": ["tests/test_transforms.py"],
    "streams/shuffle.py": ["tests/streams"],
    "distributed": ["tests/distributed"],
}
# What has done its work when all is imported, and cannot be replaced then.
LEFT_OUT = {f"kernels/{name}.py" for name in ("_operations", "_cache", "numba_types")}
DONE_AT_IMPORT = {"_or_sparse", "_lowering", "_operation", "build_all"}
WITHOUT_RESULT = {"__repr__", "label", "prefetch_row", "_emit_prefetch_row"}  # words, and hints to the processor
# Operations on rows are compiled anew by these tests; loops that are kept on disk would hide a mutant of one.
OPERATIONS = {SOURCE / "kernels" / name: ROOT / "tests/kernels/test_rows.py" for name in ("rows.py", "_llvm.py")}

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
_SYMMETRIC = {"max", "min", "maximum", "minimum", "clip", "hypot", "logaddexp", "array_equal", "_product"}
_SYMMETRIC |= {"add", "fadd", "fmul", "mul"}
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
        text = f"{what}: {' '.join(before.split())[:70]} -> {' '.join(after.split())[:70]}"
        if after == before:
            return None
        return Mutant(self.path, self.node.lineno, text, ast.fix_missing_locations(tree), self.function)


def sites_of(path: Path) -> Iterator[Site]:
    for name, function in _functions(ast.parse(path.read_text()).body, ""):
        for node in _nodes(function):
            yield from (Site(path, name, node, number) for number in range(len(_changes(node))))


def _functions(body: list[ast.stmt], inside: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name not in DONE_AT_IMPORT | WITHOUT_RESULT:
            yield inside + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{inside}{node.name}.")


def _nodes(function: ast.FunctionDef) -> Iterator[Any]:
    """Yield the nodes of the body, except for those of messages, assertions, annotations and decorators."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _ERRORS) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            continue
        if hasattr(node, "lineno"):
            yield node
        refuses = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list") and not (refuses and field == "body"):
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
            if ast.unparse(node.func).rpartition(".")[2] in _SYMMETRIC:
                return []
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

    loops = _loops()
    for key in _callers(name) & loops.keys():
        loops[key]._cache = NullCache()


def _loops() -> dict[str, Any]:
    from numba.core.dispatcher import Dispatcher

    kernels = [value for name, value in sys.modules.items() if name.startswith("ratewise.kernels.")]
    return {key: value for one in kernels for key, value in vars(one).items() if isinstance(value, Dispatcher)}


def _callers(name: str) -> set[str]:
    """Return the names of a compiled function and of the loops that call it, or that call one that does."""
    loops, found = _loops(), {name}
    for _ in loops:
        found |= {key for key, loop in loops.items() if found & set(loop.py_func.__code__.co_names)}
    return found


class Trace(NamedTuple):
    """What a test did: its place among the tests, its seconds, the functions it called, the names these use."""

    place: int
    seconds: float
    functions: set[str]
    names: set[str]
    passes: bool

    def meets(self, mutant: Mutant) -> bool:
        if mutant.path in OPERATIONS:
            return any(name.startswith(f"{OPERATIONS[mutant.path]}:test_") for name in self.functions)
        if f"{mutant.path}:{mutant.function}" in self.functions:
            return True
        return mutant.path.parent.name == "kernels" and bool(self.names & _callers(mutant.function))


class Trials:
    """A pytest plugin: after the tests are collected, run them in forked processes, once for each mutant.

    The process that collects runs no test, so that nothing that a test leaves behind hides a mutant.
    """

    def __init__(self, mutants: list[Mutant], deadline: float):
        self._mutants, self._deadline = mutants, deadline
        self.outcomes: dict[str, int] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        if session.testsfailed:
            raise SystemExit("The tests cannot be collected.")
        traces = self._traced(session)
        print(f"{len(traces)} tests, {sum(one.seconds for one in traces):.0f} s traced", flush=True)
        for mutant in self._mutants:
            if time.monotonic() > self._deadline:
                break
            began = time.monotonic()
            # The quickest first: most mutants die at once.
            chosen = sorted((one for one in traces if one.meets(mutant)), key=lambda one: one.seconds)
            outcome = _outcome(lambda: _try(session, mutant, chosen)) if chosen else "survived"  # noqa: B023
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            seconds = time.monotonic() - began
            print(f"  {outcome} {mutant} ({len(chosen)} tests, {seconds:.1f} s)", flush=True)
        return True

    def _traced(self, session: Any) -> list[Trace]:
        """Return what each test calls, of those that pass without a mutant.

        Traces are kept between runs, until the source or the file of a test changes.
        """
        kept = KEPT / f"traces-{_digest(sorted(SOURCE.rglob('*.py')))}"
        known: dict[str, Trace] = pickle.loads(kept.read_bytes()) if kept.exists() else {}
        digests = {path: _digest([path]) for path in {item.path for item in session.items}}
        keys = [f"{item.nodeid} {digests[item.path]}" for item in session.items]
        new = [place for place, key in enumerate(keys) if key not in known]
        if new:
            # Once without a trace, so that loops are compiled and kept: under a profiler that takes minutes.
            _outcome(lambda: [_run(session, place) for place in new] and 0)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "traces"
                _outcome(lambda: file.write_bytes(pickle.dumps(list(_traces(session, new)))) and 0)
                known |= {keys[one.place]: one for one in pickle.loads(file.read_bytes())}
            kept.write_bytes(pickle.dumps(known))
        found = [known[key]._replace(place=place) for place, key in enumerate(keys)]
        for key in (key for key, one in zip(keys, found, strict=True) if not one.passes):
            print(f"  left out, as it fails without a mutant: {key.rpartition(' ')[0]}")
        return [one for one in found if one.passes]


def _digest(paths: list[Path]) -> str:
    hashed = hashlib.sha256()
    for path in paths:
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def _traces(session: Any, places: list[int]) -> Iterator[Trace]:
    for place in places:
        codes: set[CodeType] = set()

        def note(frame: Any, event: str, _: Any, codes: set[CodeType] = codes) -> None:
            if event == "call":
                codes.add(frame.f_code)

        failed, began = session.testsfailed, time.monotonic()
        threading.setprofile(note)
        sys.setprofile(note)
        _run(session, place)
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        passes = session.testsfailed == failed
        ours = [code for code in codes if code.co_filename.startswith(str(ROOT))]
        functions = {f"{code.co_filename}:{code.co_qualname.split('.<locals>')[0]}" for code in ours}
        names = {name for code in ours for name in code.co_names}
        yield Trace(place, time.monotonic() - began, functions, names, passes)


def _try(session: Any, mutant: Mutant, chosen: list[Trace]) -> int:
    from numba.core.caching import FunctionCache

    FunctionCache.save_overload = lambda *_: None  # the loops of mutants are not to stay
    try:
        apply(mutant)
    except (LookupError, KeyError, ValueError):
        return 4
    slack = 60.0 if mutant.path.parent.name == "kernels" else 10.0  # a loop is compiled again
    for trace in chosen:
        signal.setitimer(signal.ITIMER_REAL, slack + 10.0 * trace.seconds)
        _run(session, trace.place)
        if session.testsfailed:
            return 1
    return 0


def _run(session: Any, place: int) -> None:
    item = session.items[place]
    session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _outcome(work: Any) -> str:
    """Return "killed", "survived", "timeout" or "skipped", of a forked process that does the work."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        code = 1
        with contextlib.suppress(BaseException):
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)  # of mutants that crash
            code = work()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a test started and could not end
    return {0: "survived", 4: "skipped", -signal.SIGALRM: "timeout"}.get(code, "killed")


def files_of(part: str) -> list[Path]:
    path = SOURCE / part
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file for file in files if str(file.relative_to(SOURCE)) not in LEFT_OUT]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(TESTS))
    parser.add_argument("--number", type=int, default=40, help="Mutants of each part.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="Leave out as many of the sample, to go on.")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="For each part; then the score so far is printed."
    )
    arguments = parser.parse_args()
    KEPT.mkdir(exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(KEPT)
    os.chdir(ROOT)
    for name in ("pytest", "hypothesis", "sklearn.linear_model", "ratewise.estimators", "ratewise.streams"):
        importlib.import_module(name)
    settings = sys.modules["hypothesis"]
    plain = [settings.Phase.explicit, settings.Phase.generate]
    settings.settings.register_profile("mutants", phases=plain, database=None, deadline=None)
    settings.settings.load_profile("mutants")
    for part in arguments.parts:
        report(part, arguments.number, arguments.seed, arguments.first, 60.0 * arguments.minutes)


def report(part: str, number: int, seed: int, first: int, seconds: float) -> None:
    """Run a sample of the mutants of a part, and print those that survive."""
    import pytest

    files = files_of(part)
    for file in files:
        module_of(file)
    every = [site for file in files for site in sites_of(file)]
    sample = random.Random(seed).sample(every, min(number, len(every)))[first:]
    trials = Trials([mutant for site in sample if (mutant := site.mutant())], time.monotonic() + seconds)
    tests = next(tests for name, tests in TESTS.items() if part == name or part.startswith(name + "/"))
    options = ["-q", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-s"]
    options += ["-p", "no:faulthandler", "--ignore-glob=*/test_cache.py"]  # it needs loops that are kept
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was imported before pytest began
    pytest.main([*options, *(str(ROOT / test) for test in tests)], plugins=[trials])
    outcomes = trials.outcomes
    dead = outcomes.get("killed", 0) + outcomes.get("timeout", 0)
    run = dead + outcomes.get("survived", 0)
    share = f"{dead / run:.0%}" if run else "-"
    print(f"{part}: {dead} of {run} mutants killed ({share}) of {len(every)}; {outcomes}", flush=True)


if __name__ == "__main__":
    main()
