"""Which of several comparisons of two methods leads."""

import fslbench_data as fb
from analysis_sql.leave_one_out.design import LEFT_OUT
from fslbench_data.scoring.headlines import headlines


def test_sets_that_reuse_images_lead_where_they_say_something_of_new_ones(embedded) -> None:
    report = fb.score(
        None, embedded, datasets="fashion_mnist", against="efficientnet_lite0/NCC",
    )  # fmt: skip
    leading = headlines(report.comparisons)
    assert len(leading) == 3 * 11  # protocols, pairs
    assert {c.task_set.partition("-")[0] for c in leading} == {"pooled"}
    others = (c for c in report.comparisons if not c.task_set.startswith("pooled"))
    leading = headlines(others)
    assert len(leading) == 3 * 11
    by_protocol = {c.task_set.partition("-")[2]: c for c in leading}
    assert {name: c.task_set for name, c in by_protocol.items()} == {
        "5w1s1q": "closed-5w1s1q",
        "5w5s5q": "closed-5w5s5q",
        "5w10s7q": "closed-5w10s7q",
    }
    assert {c.interval_kind for c in leading} <= {*LEFT_OUT}
