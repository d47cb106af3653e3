import numpy as np

from analysis_sql.comparison.verdicts import VERDICTS, Verdict
from analysis_sql.ranking.told_apart import VerdictCounts, count_verdicts


def test_counts_of_verdicts() -> None:
    codes = np.array([[0, 1, 2], [3, 4, -1], [0, -1, -1]], np.int8)
    assert VERDICTS[:2] == (Verdict.BETTER, Verdict.WORSE)
    found = count_verdicts({"paired": codes, "direct": np.full(3, 4, np.int8)})
    assert found["paired"] == VerdictCounts(2, 1, 1, 1, 1)
    assert (found["paired"].conclusive, found["paired"].compared) == (3, 5)
    assert found["paired"].share == 0.6
    assert found["direct"].share is None
