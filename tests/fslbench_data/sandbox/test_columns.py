"""Strangers' logs in Parquet: read column by column in the sandbox, whatever the file does."""

import json
from pathlib import Path

import own_logs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_parquet import NUM_ROWS, Parquet, put, with_page
from msgspec.structs import replace

from benchmark_spec.errors import TooLargeError, UnreadableError
from fslbench_data.sandbox.client import read_untrusted_columns, read_untrusted_table
from fslbench_data.sandbox.limits import LOG_LIMITS, MIB
from fslbench_data.scoring.score import interval
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.tasks.draw import Pool
from fslbench_data.validation.log_source import numbers_by_id

LOG = own_logs.log(tasks=7, classes=8, images=20, per_class=3)
SIZES = {"class": list(range(8)), "n_images": [20] * 8}


def _histogram(columns: own_logs.Columns, name: str) -> bytes:
    """A file whose statistics of a column have an entry too many, which pyarrow does not survive.

    It ends the process of whoever looks at the column's chunk in the footer.
    """
    file = Parquet.of(pa.table(columns))
    chunk = list(columns).index(name)
    histogram = file.chunk(chunk)[16][1][2][1][1]  # of repetition levels, in SizeStatistics
    histogram.append(0)
    return file.build()


def test_a_log_that_ends_the_process_that_looks_at_its_footer(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(_histogram(LOG, "image_ids"))
    with pytest.raises(UnreadableError, match=r"log\.parquet (cannot be read|ends the process)"):
        TaskLog.read(path)


def test_the_other_files_of_a_log_are_read_so_too(tmp_path: Path) -> None:
    path = tmp_path / "sizes.parquet"
    columns = {"class": [[c] for c in range(8)], "n_images": [20] * 8}
    path.write_bytes(_histogram(columns, "class"))
    with pytest.raises(UnreadableError, match=r"sizes\.parquet"):
        numbers_by_id(path, "class", "n_images", "sizes")
    pq.write_table(pa.table(SIZES), path)
    assert numbers_by_id(path, "class", "n_images", "sizes") == {str(c): 20 for c in range(8)}


@pytest.mark.slow
def test_a_page_that_inflates(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(with_page(pa.table(LOG), "n_correct", 1200 * MIB))
    assert path.stat().st_size < MIB
    limits = replace(LOG_LIMITS, memory_bytes=256 * MIB)
    with pytest.raises(TooLargeError, match="more than 256 MiB of memory to read"):
        read_untrusted_columns(path, ("method", "n_correct"), limits)
    assert read_untrusted_columns(path, ("method",), limits).num_rows == 21


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"list_values": 503}, "more than 503 values"),
        ({"file_bytes": 100}, "101 bytes"),
        ({"metadata_bytes": 100}, "bytes of footer"),
    ],
)
def test_each_limit(limits: dict[str, int], said: str, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(LOG), path)
    # 21 + 21·5 + 21·5·3 values are 441, and three times 21
    wanted = ("method", "class_ids", "image_ids", "task", "n_query", "n_correct")
    assert read_untrusted_columns(path, wanted, LOG_LIMITS)
    with pytest.raises(TooLargeError, match=said):
        read_untrusted_columns(path, wanted, replace(LOG_LIMITS, **limits))


def test_damaged_pages_are_told_and_end_no_process(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(LOG), path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 36 + data[40:])
    for read in (
        lambda: read_untrusted_columns(path, LOG),
        lambda: read_untrusted_table(path, "a table", {}, 64 * MIB, 10.0),
    ):
        with pytest.raises(UnreadableError, match="cannot be read as parquet: "):
            read()


def test_a_footer_that_claims_other_rows(tmp_path: Path) -> None:
    file, path = Parquet.of(pa.table(LOG)), tmp_path / "log.parquet"
    put(file.footer, NUM_ROWS, 9)
    path.write_bytes(file.build())
    with pytest.raises(UnreadableError, match="claims 9 rows, it holds 21"):
        read_untrusted_columns(path, LOG)


def test_texts_that_are_stored_as_differences(tmp_path: Path) -> None:
    path, how = tmp_path / "log.parquet", {"method": "DELTA_BYTE_ARRAY"}
    pq.write_table(pa.table(LOG), path, use_dictionary=False, column_encoding=how)
    assert read_untrusted_columns(path, ("method",))["method"].to_pylist() == LOG["method"]


@pytest.mark.parametrize("group", [1000, 4])
def test_columns_come_as_they_are(group: int, tmp_path: Path) -> None:
    """Texts within lists, with other dictionaries in each row group, and other columns left out."""
    texts = [[[f"{i}" for i in own] for own in ids] for ids in LOG["image_ids"]]
    table = pa.table({**LOG, "image_ids": texts, "note": [{"a": 1}] * 21})
    path = tmp_path / "log.parquet"
    pq.write_table(table.replace_schema_metadata({"x": "y"}), path, row_group_size=group)
    read = read_untrusted_columns(path, own_logs.ROW)
    assert read.column_names == list(LOG)
    assert read.to_pydict() == {**LOG, "image_ids": texts}
    assert not read.schema.metadata
    assert read_untrusted_columns(path, ("nothing",)).column_names == []
    pq.write_table(table.slice(0, 0), path)
    assert read_untrusted_columns(path, ("task",)).num_rows == 0


def test_sizes_of_a_billion_images(tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.json"
    sizes.write_text(json.dumps({str(c): 999_999_999 for c in range(15)}))
    with pytest.raises(TooLargeError, match=r"have 14,999,999,985 images\n.*class sizes"):
        interval(own_logs.log(tasks=60), class_sizes=sizes)


def test_a_pool_of_a_billion_images() -> None:
    """As classes of a stranger's release may claim."""
    with pytest.raises(TooLargeError, match="2,000,000,000 images"):
        Pool.of([10**9] * 2, dataset="cub", seed=1)
