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

from harness import BAD, Workbench
from mutator import mutated, mutated_words
from seeds import COMMAND_LINES, WORDS

CORPUS = Path(__file__).with_name("corpus")
LARGEST_KEPT = 20_000  # bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formats", nargs="*", help="all unless given")
    parser.add_argument("--mutants", type=int, default=200, help="of each format")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--keep", type=Path, default=CORPUS, help="where to keep what ends badly")
    options = parser.parse_args()
    worst, end = 0, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bench = Workbench(Path(folder))
        for name in options.formats or [*bench.seeds, "model", "command-line"]:
            counts: Counter[str] = Counter()
            slowest = largest = 0.0
            for number in range(options.first, options.first + options.mutants):
                if time.monotonic() > end:
                    break
                rng = random.Random(f"{name} {number}")
                outcome = _try(bench, name, rng, options.keep, number)
                counts[outcome.kind] += 1
                slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.megabytes)
            shown = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
            print(
                f"{name:13} {sum(counts.values()):6,} mutants: {shown}; {slowest:.1f} s, {largest:.0f} MB",
                flush=True,
            )
            worst += sum(counts[kind] for kind in BAD)
    return min(worst, 1)


def _try(bench: Workbench, name: str, rng: random.Random, keep: Path, number: int):
    if name == "command-line":
        words = mutated_words(rng.choice(COMMAND_LINES), WORDS, rng)
        outcome, content = bench.try_words(words), json.dumps(words).encode()
    else:
        files = [bench.model_of("csv")] if name == "model" else bench.seeds[name].files
        content = mutated(rng.choice(files), files, rng)
        outcome = bench.try_file(name, content)
    if outcome.kind in BAD:
        last = outcome.output.strip().splitlines()[-1:] or ["no output"]
        print(
            f"{name} {number}: {outcome.kind} ({outcome.seconds:.1f} s, {outcome.megabytes:.0f} MB): {last[0][:250]}"
        )
        if len(content) <= LARGEST_KEPT:
            keep.mkdir(exist_ok=True)
            (keep / f"{name}.{number}").write_bytes(content)
    return outcome


if __name__ == "__main__":
    raise SystemExit(main())
