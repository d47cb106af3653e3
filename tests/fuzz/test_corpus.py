"""Submissions and manifests that a fuzzer found: nothing comes out but errors of the package.

Each file of ``corpus.zip`` is named by its SHA-1; together they take every path that was found.
"""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.manifest import Manifest
from fslbench_data.release.release import load_release
from fslbench_data.sandbox.limits import Limits
from fslbench_data.sandbox.reader import read_bounded
from fslbench_data.submission.bindings import read_metadata
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

T = TypeVar("T")
LIMITS = Limits(file_bytes=1 << 20, rows=10_000, list_values=100_000, names=50)


def _files(target: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(Path(__file__).with_name("corpus.zip")) as corpus:
        for name in corpus.namelist():
            if name.startswith(f"{target}/"):
                yield Path(name).name, corpus.read(name)


def _refused(read: Callable[[], T]) -> T | None:
    """What is read, or nothing where it is refused as it should be."""
    try:
        return read()
    except FSLBenchError as error:
        text = str(error).replace("\n", "")
        assert text.isprintable(), ascii(text)
        assert len(text) < 20_000
        return None


def _read_submission(path: Path) -> None:
    """Read a file, check it, and read Parquet as if it were a stranger's."""
    if path.suffix == ".metadata":
        _refused(lambda: read_metadata(path.read_bytes(), "a file"))
        return
    found = _refused(lambda: Submission.read(path))
    if path.suffix == ".parquet":
        try:
            table = _refused(lambda: read_bounded(path, "a file", LIMITS))
        except MemoryError:  # which ends a process of its own
            table = None
        if found is not None and table is not None:
            assert found.table.to_pydict() == table.to_pydict()
    if found is None:
        return
    checked = _refused(lambda: validate(found, load_release(), allow_unbound=True))
    for group in checked.groups if checked is not None else ():
        assert (group.counts >= 0).all()
        assert (group.counts <= group.queries_per_task).all()
        assert len(group.counts) <= group.info.n_tasks
        assert group.method.isprintable()


def _read_manifest(path: Path) -> None:
    """Read a manifest, and write it again as it was."""
    manifest = _refused(lambda: Manifest.from_json(path.read_bytes(), "a file"))
    if manifest is not None:
        assert Manifest.from_json(manifest.to_json(), "again") == manifest
        assert len(manifest.configs()) <= 2 * len(manifest.tables)


@pytest.mark.filterwarnings("ignore::benchmark_spec.errors.FSLBenchWarning")
@pytest.mark.parametrize(
    ("target", "read"),
    [
        pytest.param("submissions", _read_submission, marks=pytest.mark.slow),
        ("manifests", _read_manifest),
    ],
)
def test_the_corpus_ends_in_no_other_errors(
    target: str, read: Callable[[Path], None], tmp_path: Path
) -> None:
    seen = 0
    for name, content in _files(target):
        path = tmp_path / name
        path.write_bytes(content)
        try:
            read(path)
        except Exception as error:
            pytest.fail(f"{target}/{name}: {error!r}")
        path.unlink()
        seen += 1
    assert seen > 60
