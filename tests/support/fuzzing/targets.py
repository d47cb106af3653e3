"""What the fuzzer runs: bytes in, and nothing out but errors of benchmark_spec.errors.

The first byte says what the others are: a file as it is, or decisions from which a file is made
that is almost right.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.manifest import Manifest
from fslbench_data.sandbox.limits import Limits
from fslbench_data.sandbox.reader import read_bounded
from fslbench_data.submission.bindings import read_metadata
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate
from fuzzing import files, manifest_texts, tables
from fuzzing.choices import Choices

T = TypeVar("T")
LIMITS = Limits(file_bytes=1 << 20, rows=10_000, list_values=100_000, names=50)


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")
    where = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
    return Path(where)


def submissions(data: bytes) -> None:
    """A submission: read, checked; a Parquet file also as if it were a stranger's."""
    choices = Choices(data)
    kind = choices.below(len(files.MAKERS))
    ending, content = files.MAKERS[kind](choices)
    if content is None:
        return
    if ending == "metadata":
        _refused(lambda: read_metadata(content, "a file"))
        return
    path = _folder() / f"x.{ending}"
    path.write_bytes(content)
    found = _refused(lambda: Submission.read(path))
    if ending == "parquet":
        try:
            table = _refused(lambda: read_bounded(path, "a file", LIMITS))
        except MemoryError:  # which ends a process of its own
            table = None
        if found is not None and table is not None:
            _same(found.table, table)
    if found is not None:
        _check(found)


def _check(submission: Submission) -> None:
    """What passes must be counts that are possible."""
    found = _refused(lambda: validate(submission, tables.release(), allow_unbound=True))
    for group in found.groups if found is not None else ():
        assert (group.counts >= 0).all()
        assert (group.counts <= group.queries_per_task).all()
        assert len(group.counts) <= group.info.n_tasks
        assert group.method.isprintable()


def _same(one: pa.Table, other: pa.Table) -> None:
    assert one.column_names == other.column_names
    for name in one.column_names:
        a, b = (t.column(name).to_pylist() for t in (one, other))
        assert a == b, name


def manifests(data: bytes) -> None:
    """A manifest: read, and written again as it was."""
    content = manifest_texts.make(Choices(data))
    manifest = _refused(lambda: Manifest.from_json(content, "a file"))
    if manifest is not None:
        assert Manifest.from_json(manifest.to_json(), "again") == manifest
        assert len(manifest.configs()) <= 2 * len(manifest.tables)


def _refused(read: Callable[[], T]) -> T | None:
    """What is read, or nothing where it is refused as it should be."""
    try:
        return read()
    except FSLBenchError as error:
        text = str(error).replace("\n", "")
        assert text.isprintable(), ascii(text)
        assert len(text) < 20_000
        return None


TARGETS: dict[str, Callable[[bytes], None]] = {"submissions": submissions, "manifests": manifests}
