"""Submissions and manifests that a fuzzer found, and two validators that judge alike."""

import zipfile
from pathlib import Path

import pytest
from fuzzing import TOLD, compare

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.manifest import Manifest
from fslbench_data.release.release import load_release
from fslbench_data.sandbox.limits import Limits
from fslbench_data.sandbox.reader import read_bounded
from fslbench_data.submission.model import Submission, read_metadata
from fslbench_data.validation.validate import validate

LIMITS = Limits(file_bytes=1 << 20, rows=10_000, list_values=100_000, names=50)


def _refused(read):
    try:
        return read()
    except FSLBenchError as error:
        text = str(error).replace("\n", "")
        assert text.isprintable(), ascii(text)
        assert len(text) < 20_000
        return None


def _read_submission(path):
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


def _read_manifest(path):
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
def test_the_corpus_ends_in_no_other_errors(target, read, tmp_path):
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
    0, 1, 2, 4, 6, 8, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 24, 26, 27, 29, 30, 31, 36, 42,
    43, 48, 49, 58, 64, 67, 68, 73, 91, 99, 107, 116, 117, 119, 123, 125, 127, 128, 131, 135,
    150, 158, 164, 173, 181, 185, 189, 206, 209, 213, 214, 228, 248, 254, 255, 256, 266, 277,
    280, 333, 351, 353, 391, 399, 474, 511, 559, 574, 596, 616, 648, 649, 672, 679, 684, 690,
    696, 703, 717, 735, 752, 769, 818, 821, 828, 855, 895, 936, 944, 946, 1039, 1115, 1189,
    1239, 1263, 1280, 1377, 1416, 1423, 1469, 1489, 1521, 1623, 1645, 1839, 1900, 2375, 2391, 2728,
    2736, 2766, 2897, 2974, 3050, 3867
"""
"""Accepted ones with each name and type, and one or two for each reason to refuse."""

WHICH_ARE_RIGHT = (5, 8, 10, 21, 25, 36, 58, 60, 110, 112, 175, 199, 212, 243, 1444)
"""Of these, some accepted ones, and each reason to refuse their lists."""


@pytest.mark.slow
def test_two_validators_agree(tmp_path):
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
