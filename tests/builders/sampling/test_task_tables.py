"""Frozen tables: what is frozen is what was drawn."""

import numpy as np
import pyarrow as pa
import pytest

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec import schemas
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol, TaskSetName
from builders.sampling import draw_task_set
from fslbench_data.tasks.draw import draw_closed, freeze

SIZES = [30, 40, 50, 60, 70, 80]


@pytest.mark.parametrize("protocol", PUBLISHED_PROTOCOLS, ids=str)
def test_the_draw_can_be_read_back_from_the_table(protocol: Protocol) -> None:
    drawn = draw_closed(SIZES, protocol, dataset="x", seed=3, tasks=40)
    table = freeze(drawn, SIZES, Stream("queries"))
    assert schemas.check(table, schemas.tasks(protocol), "x") is table
    first = np.cumsum([0, *SIZES[:-1]])
    for t, row in enumerate(table.to_pylist()):
        assert row["task_id"] == t
        assert row["class_ids"] == drawn.class_ids[t].tolist()
        starts = first[drawn.class_ids[t]]
        support = np.array(row["support"]).reshape(protocol.way, protocol.shot)
        np.testing.assert_array_equal(support - starts[:, None], drawn.support[t])
        for k in range(protocol.way):
            ids = [
                i for i, label in zip(row["query"], row["query_label"], strict=True) if label == k
            ]
            assert (np.array(ids) - starts[k]).tolist() == drawn.query[t, k].tolist()


def test_lists_are_of_fixed_size_and_small_integers() -> None:
    table, provenance = draw_task_set("x", TaskSetName.parse("open-5w1s1q"), SIZES, seed=4)
    assert table.schema.field("class_ids").type == pa.list_(pa.int32(), 5)
    assert table.schema.field("query_label").type == pa.list_(pa.int8(), 5)
    assert provenance == {
        "suite": "open",
        "sampler_version": 1,
        "generator": "Philox",
        "max_tasks": None,
        "seed": 4,
    }


def test_the_published_sets_take_no_other_seed() -> None:
    for options in ({"seed": 1}, {"tasks": 10}):
        with pytest.raises(SamplingError, match="published"):
            draw_task_set("x", TaskSetName.parse("published-5w1s1q"), SIZES, **options)
