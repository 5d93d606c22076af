"""Fuzz every format, the model file and the command line: ``make fuzz`` or ``python tests/fuzz --help``.

A mutant is drawn by its format and its number, so a run can be repeated and gone on with. What ends badly is kept
in tests/fuzz/corpus, which ``make test`` runs again.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from harness import BAD, Outcome, Workbench
from mutator import mutated, mutated_words
from seeds import COMMAND_LINES, WORDS

CORPUS = Path(__file__).with_name("corpus")
LARGEST_KEPT = 20_000  # bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formats", nargs="*", help="all unless given")
    parser.add_argument("--mutants", type=int, default=200, help="of each format")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="stop after so long, shared by formats"
    )
    parser.add_argument("--log", type=Path, help="note how each one ended, and leave out what is noted there")
    parser.add_argument("--keep", type=Path, default=CORPUS, help="where to keep what ends badly")
    parser.add_argument("--replay", action="store_true", help="try what was kept, and nothing else")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bench = Workbench(Path(folder))
        bad = _replay(bench, options.keep) if options.replay else _fuzz(bench, options)
    return min(bad, 1)


def _fuzz(bench: Workbench, options: argparse.Namespace) -> int:
    """Try new mutants, one format after the other; return how many ended badly."""
    names = options.formats or [*bench.seeds, "model", "command-line"]
    ended: dict[str, dict[int, Outcome]] = {name: {} for name in names}
    if options.log and options.log.exists():
        for line in options.log.read_text().splitlines():
            name, number, *outcome = json.loads(line)
            ended.setdefault(name, {})[number] = Outcome(*outcome, "")
    for name in names:
        end = time.monotonic() + options.seconds / len(names)
        for number in range(options.first, options.first + options.mutants):
            if number in ended[name]:
                continue
            if time.monotonic() > end:
                break
            content = _mutant(bench, name, random.Random(f"{name} {number}"))
            outcome = ended[name][number] = _try(bench, name, content)
            if outcome.kind not in ("ok", "sentence"):
                print(f"{name} {number}: {outcome}", flush=True)
            if outcome.kind in BAD and len(content) <= LARGEST_KEPT:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{name}.{number}").write_bytes(content)
            if options.log:
                with open(options.log, "a") as log:
                    log.write(json.dumps([name, number, *outcome[:3]]) + "\n")
        print(_summary(name, list(ended[name].values())), flush=True)
    return sum(outcome.kind in BAD for name in names for outcome in ended[name].values())


def _summary(name: str, outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.kind for outcome in outcomes)
    shown = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
    slowest = max((outcome.seconds for outcome in outcomes), default=0.0)
    largest = max((outcome.megabytes for outcome in outcomes), default=0.0)
    return f"{name:13} {len(outcomes):6,} mutants: {shown}; {slowest:.1f} s, {largest:.0f} MB"


def _replay(bench: Workbench, corpus: Path) -> int:
    """Try all that was kept; return how many end badly again."""
    bad = 0
    for file in sorted(corpus.iterdir()):
        outcome = _try(bench, file.name.rpartition(".")[0], file.read_bytes())
        if outcome.kind in BAD:
            bad += 1
            print(f"{file.name}: {outcome}")
    print(f"{len(list(corpus.iterdir()))} files tried")
    return bad


def _mutant(bench: Workbench, name: str, rng: random.Random) -> bytes:
    if name == "command-line":
        return json.dumps(mutated_words(rng.choice(COMMAND_LINES), WORDS, rng)).encode()
    files = [bench.model_of("csv")] if name == "model" else bench.seeds[name].files
    return mutated(rng.choice(files), files, rng)


def _try(bench: Workbench, name: str, content: bytes) -> Outcome:
    return bench.try_words(json.loads(content)) if name == "command-line" else bench.try_file(name, content)


if __name__ == "__main__":
    raise SystemExit(main())
