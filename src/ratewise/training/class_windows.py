"""Many classes in files: the rows of a fit, window by window.

As with two classes every pass over the windows is a job. Paths learn side by side: a window teaches all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.softmax import ClassCandidate, ClassCut, ClassLearner, CutClasses, LearnClasses, Path
from . import config
from .class_samples import ClassFacts, SampledClasses
from .config import FitConfig
from .files import FirstPass, WindowJob, WindowSource
from .labelled import MulticlassRows
from .source import ALL_ROWS


class ClassWindows(SampledClasses):
    """Windows of a stream of many classes, transformed as they come."""

    at_once = False

    def __init__(self, source: WindowSource, n_classes: int, settings: FitConfig):
        self._source = source
        found: ManyClassPass = source.run(ManyClassPass(source.seed, n_classes, settings))
        super().__init__(found.facts(), found.reservoir.sample_of_classes(), settings, source.seed)

    def follow(
        self, paths: Sequence[tuple[int, Path]], rng: np.random.Generator, threads: int
    ) -> list[list[ClassCandidate]]:
        done: _ClassPasses = self._source.run(_ClassPasses([ClassRun(*one, self) for one in paths], self))
        return [run.candidates for run in done.runs]


class ManyClassPass(FirstPass):
    """The first pass over rows of many classes."""

    def __init__(self, seed: int, n_classes: int, settings: FitConfig):
        most = math.inf if settings.basis is None else config.CODED_SAMPLE_ROWS
        super().__init__(seed, standardize=settings.standardize, sample_rows=most, n_classes=n_classes)
        self.totals, self.counts = np.zeros(n_classes), np.zeros(n_classes)

    def count(self, X: Any, targets: NDArray[Any]) -> None:
        codes, weights = targets[:, 0].astype(np.intp), targets[:, 1].astype(np.float64)
        self.reservoir.add_classes(X, codes, weights)
        self.counts += np.bincount(codes, minlength=self.counts.size)
        self.totals += np.bincount(codes, weights, minlength=self.totals.size)

    def facts(self) -> ClassFacts:
        return ClassFacts(self.rows, self.n_values, self.counts, self.totals, self.standardizer)


class ClassRun:
    """A running path: its answers so far, from which a checkpoint resumes, and the learner of this pass."""

    def __init__(self, fold: int, path: Path, rows: ClassWindows):
        self.fold, self._path, self._rows = fold, path, rows
        self.candidates: list[ClassCandidate] = []
        """What the path has come to, at its end."""
        self._learner: ClassLearner | None = None
        self._answers: list[Any] = []
        self._begun = False

    def resume(self, fresh: ClassRun) -> None:
        """Go on with the path and the rows of a run that has not begun."""
        self._path, self._rows = fresh._path, fresh._rows

    def learn(self, parts: Sequence[MulticlassRows], rng: np.random.Generator) -> None:
        """Learn from the rows of a window that are not of the fold."""
        self._begin()
        if self._learner is not None:
            for part in parts if self.fold == ALL_ROWS else parts[1:]:
                for chunk in part.one_pass(rng):
                    self._learner.learn(chunk)

    def end_pass(self) -> bool:
        """Answer the request to learn; return whether another pass is needed."""
        self._begin()
        if self._learner is not None:
            self._answers.append(self._learner.learned())
            self._learner = None
            self._advance(self._answers[-1])
        return self._learner is not None

    def _begin(self) -> None:
        """Bring a path that is new to where the answers so far lead."""
        if self._begun:
            return
        self._begun, learner = True, self._learner
        answers = [None, *self._answers]
        for answer in answers[:-1]:
            self._path.send(answer)
        if not self.candidates:
            self._advance(answers[-1])
        self._learner = learner or self._learner

    def _advance(self, answer: Any) -> None:
        """Answer, and answer what is asked next, up to a request to learn or to the end."""
        try:
            request = self._path.send(answer)
            while isinstance(request, CutClasses):
                sample = self._rows.training_sample(self.fold).first(config.CLASS_CUT_ROWS)
                self._answers.append(ClassCut.of(sample.scored(request.model), request.measure))
                request = self._path.send(self._answers[-1])
            assert isinstance(request, LearnClasses)
            self._learner = ClassLearner(request)
        except StopIteration as end:
            self.candidates = end.value

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_path": None, "_rows": None, "_begun": False}


class _ClassPasses(WindowJob):
    """Paths in lockstep."""

    stage = "learning"

    def __init__(self, runs: list[ClassRun], rows: ClassWindows):
        self.runs = runs
        self._rows: ClassWindows | None = rows

    def resume(self, fresh: _ClassPasses) -> None:
        self._rows = fresh._rows
        for mine, new in zip(self.runs, fresh.runs, strict=True):
            mine.resume(new)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_rows": None}

    def take(self, X: Any, targets: NDArray[Any], rng: np.random.Generator) -> None:
        assert self._rows is not None
        parts = self._rows.in_parts(X, targets, rng)
        for run, own_rng in zip(self.runs, rng.spawn(len(self.runs)), strict=True):
            run.learn(parts, own_rng)

    def end_pass(self) -> bool:
        learning = [run.end_pass() for run in self.runs]
        return any(learning)
