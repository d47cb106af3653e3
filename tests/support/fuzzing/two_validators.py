"""The package and a validator written from the docs alone, on the same files."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from independent_validator import Facts, refusal

from benchmark_spec.errors import FSLBenchError
from fslbench_data.sandbox.limits import LIMITS
from fslbench_data.sandbox.reader import read_bounded
from fslbench_data.submission.bindings import METADATA_KEY, read_metadata
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate
from fuzzing import differential, tables

_MISLEADING = {"open-5w1s1q": 4.1, "open-5w5s5q": 12.0, "open-5w10s7q": 2.3}
"""Of digits, as studies/coverage/stopping.md has them."""


@cache
def facts() -> dict[tuple[str, str], Facts]:
    """What the embedded release says of the task sets that files of the fuzzer may name."""
    release = tables.release()
    return {
        (info.dataset, str(info.name)): Facts(
            way=info.protocol.way,
            query=info.protocol.query,
            tasks=info.n_tasks,
            fingerprint=info.fingerprint,
            labels=release.task_set(info.dataset, str(info.name)).query_label.tolist(),
            misleading=_MISLEADING.get(str(info.name), 0.0),
        )
        for info in release.task_sets
        if info.dataset == "digits"
    }


def _package(path: Path, *, unbound: bool, bounded: bool = False) -> str | None:
    """Why the package refuses a file, read as the user's own or as a stranger's."""
    try:
        submission = _read_bounded(path) if bounded else Submission.read(path)
        validate(submission, tables.release(), allow_unbound=unbound)
    except FSLBenchError as error:
        return f"{type(error).__name__}: {error.what}"
    return None


def _read_bounded(path: Path) -> Submission:
    table = read_bounded(path, "the file", LIMITS)
    raw = (table.schema.metadata or {}).get(METADATA_KEY)
    methods, bindings, _ = ({}, {}, "") if raw is None else read_metadata(raw, "the file")
    return Submission(table.replace_schema_metadata(None), methods, bindings)


@dataclass
class Compared:
    """Where the two disagree; refused and accepted files by ending; the second one's reasons."""

    disagreements: list[str] = field(default_factory=list)
    seen: dict[str, list[int]] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)


def compare(files: int, folder: Path, seeds: Iterable[int] | None = None) -> Compared:
    """Judge so many files by both; they are made of `seeds`, by default of 0, 1 and so on."""
    taken = frozenset(tables.release().methods)
    found = Compared()
    for seed in itertools.count() if seeds is None else seeds:
        if sum(map(sum, found.seen.values())) == files:
            break
        ending, content = differential.case(seed)
        if content is None:
            continue
        path = folder / f"x.{ending}"
        path.write_bytes(content)
        unbound = random.Random(seed).random() < 0.3
        ours = _package(path, unbound=unbound)
        theirs = refusal(path, facts(), taken, unbound=unbound)
        found.seen.setdefault(ending, [0, 0])[ours is None] += 1
        if theirs is not None:
            found.reasons.add(theirs)
        if (ours is None) != (theirs is None):
            found.disagreements.append(
                f"seed {seed} ({ending}): package {ours!r}, other {theirs!r}"
            )
        if ending == "parquet":
            strict = _package(path, unbound=unbound, bounded=True)
            if (ours is None) != (strict is None):
                found.disagreements.append(
                    f"seed {seed}: read {ours!r}, as a stranger's {strict!r}"
                )
    return found
