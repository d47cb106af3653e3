"""Count which differences of a printed table survive: ``python -m studies.reported.survive``.

The table is FewSTAB's (ECCV 2024) accuracies on random tasks, Table S7: ten methods, three data
sets, 3,000 tasks of 5 ways and 15 queries.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from fslbench_data.scoring.reported import Difference, reported
from studies.common import head, row

TABLE = Path(__file__).parent / "fewstab_random.csv"


def main() -> None:
    """Print a row for each data set and number of shots."""
    found = reported(TABLE, ways=5, queries=15, tasks=3000)

    def task_set(pair: Difference) -> tuple[str, int]:
        assert pair.first.design is not None
        return pair.first.design.dataset, pair.first.design.shots

    print(head("data set", "shots", "methods", "differences", "other tasks", "new images",
               "new classes", "new classes: at most ±", "typically ±"))  # fmt: skip
    for (dataset, shots), some in groupby(sorted(found.differences, key=task_set), task_set):
        pairs = [*some]
        methods = {one.method: one for pair in pairs for one in (pair.first, pair.second)}
        kinds = (sum(p.significant[kind] for p in pairs) for kind in ("tasks", "images", "classes"))
        width = max(one.classes or 0.0 for one in methods.values())
        typical = max(one.typical_classes or 0.0 for one in methods.values())
        print(row(dataset, shots, len(methods), len(pairs), *kinds, width, typical))


if __name__ == "__main__":
    main()
