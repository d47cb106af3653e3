"""Keep of a fuzzer's inputs those that together take every path: see README.md.

``python tests/fuzz/minimise.py submissions WORK...`` looks at the kept corpus and at folders that
``run.py --work`` has filled, and writes the corpus anew.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve().parent
LONGEST = 8192
PACKAGES = (
    "/benchmark_spec/",
    "/fslbench_data/submission/",
    "/fslbench_data/validation/",
    "/fslbench_data/leaderboard/",
)

Paths = frozenset[tuple[Any, ...]]


def paths_of(run: Callable[[bytes], None], data: bytes) -> Paths:
    """Steps from line to line that an input leads to, and the words of each refusal."""
    from fuzzing import targets

    from benchmark_spec.errors import FSLBenchError

    found: set[tuple[Any, ...]] = set()
    last: dict[int, int] = {}

    def step(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not any(part in name for part in PACKAGES):
            return None
        if event == "line":
            found.add((name, last.get(id(frame), 0), frame.f_lineno))
        last[id(frame)] = frame.f_lineno
        return step

    def told(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except FSLBenchError as error:
            words = re.sub(r"['\"].*?['\"]|[^a-z ]", "", error.what)
            found.add((type(error).__name__, words[:80]))
            raise

    refused = targets._refused
    targets._refused = lambda read: refused(lambda: told(read))
    sys.settrace(step)
    try:
        run(data)
    finally:
        sys.settrace(None)
        targets._refused = refused
    return frozenset(found)


def smallest(inputs: dict[bytes, Paths]) -> list[bytes]:
    """Inputs that together take every path: the shortest first, then none that is not needed."""
    kept: list[bytes] = []
    seen: set[tuple[Any, ...]] = set()
    for data in sorted(inputs, key=len):
        if inputs[data] - seen:
            kept.append(data)
            seen |= inputs[data]
    for data in sorted(kept, key=len, reverse=True):
        others = frozenset[tuple[Any, ...]]().union(*(inputs[x] for x in kept if x != data))
        if inputs[data] <= others:
            kept.remove(data)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=["submissions", "manifests"])
    parser.add_argument("work", type=Path, nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE.parent / "support"))
    from fuzzing.seeds import seeds
    from fuzzing.targets import TARGETS

    corpus = HERE / "corpus" / options.target
    files = [path for folder in (corpus, *options.work) for path in folder.iterdir()]
    inputs = {path.read_bytes() for path in files} | set(seeds(options.target))
    run = TARGETS[options.target]
    for data in seeds(options.target):
        run(data)  # what happens once only is no path of an input
    found = {data: paths_of(run, data) for data in inputs if 0 < len(data) <= LONGEST}
    kept = smallest(found)
    for path in corpus.iterdir():
        path.unlink()
    for data in kept:
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
    print(f"{len(kept)} of {len(inputs)} inputs, {sum(map(len, kept))} bytes")


if __name__ == "__main__":
    main()
