"""Runs commands in forked children, with limits of time and memory, and says how each one ended.

A child is forked from a process that has imported and compiled everything, so a mutant costs some 50 ms.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import seeds

SECONDS = 20  # of the processor
PATIENCE = 6.0  # as many seconds of the clock: other processes may be busy
MEMORY = 1 << 30  # beyond what the process had, and beyond the file's own size
NOBODY = 65534
BAD = ("internal error", "signal", "timeout", "memory")


class Outcome(NamedTuple):
    kind: str
    """ok, sentence, warning, or one of BAD."""
    seconds: float
    megabytes: float
    output: str

    def __str__(self) -> str:
        lines = self.output.strip().splitlines() or ["no output"]
        shown = next((line for line in lines if "Warning: " in line), lines[-1])
        return f"{self.kind} ({self.seconds:.1f} s, {self.megabytes:.0f} MB): {shown[-250:]}"


def run_commands(
    commands: Sequence[Sequence[str]], folder: Path, file_bytes: int = 0, *, as_nobody: bool = False
) -> Outcome:
    """Run command lines one after the other in one child; a command that refuses its input ends it quietly."""
    log = folder / ".log"
    log.write_bytes(b"")
    began = time.monotonic()
    told, tell = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since Python 3.12, where there are threads
        child = os.fork()
    if child == 0:
        os.write(tell, str(_resident_bytes(os.getpid())).encode())  # less than that of its parent
        _be_the_child(commands, folder, log, as_nobody)
    os.close(tell)
    before = int(os.read(told, 20))
    os.close(told)
    highest, how = 0, None
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        seconds = time.monotonic() - began
        if done:
            break
        highest = max(highest, _resident_bytes(child) - before)
        is_late = seconds > PATIENCE * SECONDS
        if how is None and (is_late or highest > MEMORY + file_bytes):
            how = "timeout" if is_late else "memory"
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002 if seconds < 0.2 else 0.02)
    highest = max(highest, usage.ru_maxrss * 1024 - before)
    output = log.read_bytes()[-20_000:].decode("utf-8", "replace")
    if how is None and highest > MEMORY + file_bytes:
        how = "memory"
    return Outcome(how or _kind_of(status, output), usage.ru_utime + usage.ru_stime, highest / 2**20, output)


def _kind_of(status: int, output: str) -> str:
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGXCPU else "signal"
    said = ("Traceback", "defect of ours", "No module named")
    if os.WEXITSTATUS(status) not in (0, 1, 2) or any(words in output for words in said):
        return "internal error"
    if re.search(r"\w+Warning: ", output):
        return "warning"
    return "sentence" if os.WEXITSTATUS(status) else "ok"


def _be_the_child(commands: Sequence[Sequence[str]], folder: Path, log: Path, as_nobody: bool) -> None:
    """Run the commands and end the process; the exit code is the largest of theirs."""
    from ratewise.cli.app import app

    code = 70
    try:
        output = os.open(log, os.O_WRONLY)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        faulthandler.enable(2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        os.chdir(folder)
        if as_nobody and os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        codes = []
        for words in commands:
            try:
                app.main(args=list(words), prog_name="ratewise")
            except SystemExit as end:
                codes.append(end.code if isinstance(end.code, int) else 1)
        code = max(codes)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _resident_bytes(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


class Workbench:
    """A folder with good files and models of them, in which mutants are tried."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.seeds = seeds.all_seeds()
        self._models: dict[str, bytes] = {}
        self._is_warm = False
        self._good = seeds.good_files()
        for name, content in self._good.items():
            (folder / name).write_bytes(content)

    def model_of(self, name: str) -> bytes:
        """Return the model file of a format's first seed. Fitting it here warms up this process."""
        if name not in self._models:
            seed = self.seeds[name]
            file, model = self.folder / f"seed{seed.ending}", self.folder / "made.skops"
            for content in reversed(seed.files):
                file.write_bytes(content)
                for words in seed.commands:
                    model = self._run_here(words, file)
                    (self.folder / "model.skops").write_bytes(model)
            self._models[name] = model
        return self._models[name]

    def _run_here(self, words: Sequence[str], file: Path) -> bytes:
        from ratewise.cli.app import app

        with contextlib.chdir(self.folder):
            try:
                app.main(args=[word.format(file.name) for word in words])
            except SystemExit as end:
                if end.code:
                    raise RuntimeError(f"a whole file of {file.suffix} is refused") from end
        return (self.folder / "made.skops").read_bytes()

    @contextlib.contextmanager
    def cleared(self, model: bytes) -> Iterator[Path]:
        """Make a fresh folder with the good files and a model."""
        folder = self.folder / "child"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in (self._good | {"model.skops": model}).items():
            (folder / name).write_bytes(content)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)

    def try_file(self, name: str, content: bytes) -> Outcome:
        """Do with a mutant of a format what is done with its files."""
        if name == "model":
            ending, commands = ".skops", seeds.MODEL_COMMANDS
        else:
            ending, commands = self.seeds[name].ending, self.seeds[name].commands
        with self.cleared(self.model_of("csv" if name == "model" else name)) as folder:
            (folder / f"mutant{ending}").write_bytes(content)
            filled = [[word.format(f"mutant{ending}") for word in words] for words in commands]
            return run_commands(filled, folder, len(content))

    def _warm_up(self) -> None:
        """Run every command once: a child that is nobody may not be able to read what it imports."""
        self._is_warm = True
        (self.folder / "model.skops").write_bytes(self.model_of("csv"))
        with contextlib.redirect_stdout(io.StringIO()):
            for words in seeds.COMMAND_LINES:
                self._run_here(words, self.folder / "good.csv")

    def try_words(self, words: Sequence[str]) -> Outcome:
        if not self._is_warm:
            self._warm_up()
        with self.cleared(self.model_of("csv")) as folder:
            # What is drawn at random is not for the administrator to run.
            return run_commands([words], folder, as_nobody=True)
