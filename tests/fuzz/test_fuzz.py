"""Submissions and manifests that a fuzzer found, and two validators that judge alike."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzzing import tables
from fuzzing.differential import TOLD
from fuzzing.two_validators import compare

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.manifest import Manifest
from fslbench_data.sandbox.limits import Limits
from fslbench_data.sandbox.reader import read_bounded
from fslbench_data.submission.bindings import read_metadata
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

LIMITS = Limits(file_bytes=1 << 20, rows=10_000, list_values=100_000, names=50)


def _refused(read: Callable[[], Any]) -> Any:
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
    checked = _refused(lambda: validate(found, tables.release(), allow_unbound=True))
    for group in checked.groups if checked is not None else ():
        assert (group.counts >= 0).all()
        assert (group.counts <= group.queries_per_task).all()
        assert len(group.counts) <= group.info.n_tasks
        assert group.method.isprintable()


def _read_manifest(path: Path) -> None:
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
def test_the_corpus_ends_in_no_other_errors(target, read, tmp_path: Path) -> None:
    """Each file of ``corpus.zip`` is named by its SHA-1; all together take every path found."""
    with zipfile.ZipFile(Path(__file__).with_name("corpus.zip")) as corpus:
        names = [name for name in corpus.namelist() if name.startswith(f"{target}/")]
        for name in names:
            path = tmp_path / Path(name).name
            path.write_bytes(corpus.read(name))
            try:
                read(path)
            except Exception as error:
                pytest.fail(f"{name}: {error!r}")
            path.unlink()
    assert len(names) > 60


SEEDS = """
    0, 1, 2, 3, 4, 5, 7, 10, 11, 12, 13, 14, 16, 19, 20, 22, 25, 26, 29, 30, 32, 33, 37, 39,
    40, 41, 43, 52, 58, 66, 82, 83, 91, 93, 95, 106, 108, 109, 117, 118, 129, 138, 151, 156,
    193, 194, 196, 223, 269, 293, 330, 361, 423, 466, 507, 518, 527, 575, 693, 768, 788, 870,
    936, 947, 1021, 1049, 1113, 1157, 1240, 1289, 1361, 1407, 1514, 1947, 1979, 1994, 2117,
    2120, 2196
"""
"""Of the first 2,200: some accepted ones of each ending, one or two for each reason to refuse."""

WHICH_ARE_RIGHT = (8, 11, 13, 30, 159, 171, 175, 251, 300, 1118, 1589, 1633, 2148, 2185, 2254)
"""Of the first 2,500 of these: some accepted ones, and each reason to refuse their lists."""


@pytest.mark.slow
def test_two_validators_agree(tmp_path: Path) -> None:
    """One is the package, the other written from the docs alone.

    ``python -m studies.checks two_validators`` judges 5,000: see studies/reliability/README.md.
    """
    seeds = [int(text) for text in SEEDS.replace(",", " ").split()]
    seeds += [TOLD + seed for seed in WHICH_ARE_RIGHT]
    found = compare(len(seeds), tmp_path, seeds)
    assert not found.disagreements, "\n".join(found.disagreements)
    assert set(found.seen) == {"parquet", "csv", "jsonl"}
    for refused, accepted in found.seen.values():
        assert min(refused, accepted) >= 4, found.seen
    of_reading = ("not to be read", "not JSON")
    rules = {reason for reason in found.reasons if not reason.startswith(of_reading)}
    assert {"correct", "predictions and n_correct"} <= rules
    assert len(rules) >= 58, "the seeds no longer lead to each rule"
