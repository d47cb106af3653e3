"""What of a gained excess is the level's: ``python -m studies.bias.excess``.

From step to step, and over several steps, of the ladders that docs/bias.md speaks of: the excess
gained, what of it the level of accuracy alone would give, and what lies beyond.  Of *level* and
*beyond* the sum is the excess gained.  The table stands in studies/bias/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis_sql.bias import contrast, gap_of
from fslbench_data.scoring.bias import bias
from fslbench_data.scoring.selection import Selection
from studies.common import printed, signed

METHODS = ("efficientnet_lite0/LR", "efficientnet_lite0/NCC")
SPANS = {
    "openclipart/ladder_titles-5w5s5q": (
        ("random", "support"), ("support", "inter"), ("inter", "biased"), ("random", "biased"),
    ),
    "openclipart/ladder_pixels-5w5s5q": (
        ("random", "support"), ("support", "inter"), ("inter", "biased"), ("random", "biased"),
    ),
    "emoji/counterfactual_style-5w5s5q": (("same", "any"), ("any", "other"), ("same", "other")),
}  # fmt: skip


def rows() -> Iterator[Sequence[str]]:
    """Yield a row per ladder, method and span of steps."""
    for name, spans in SPANS.items():
        dataset, _, task_set = name.partition("/")
        asked = Selection.of(against=METHODS, datasets=dataset, task_sets=task_set)
        (ladder,) = bias(None, None, asked).ladders
        for method in METHODS:
            steps, at = ladder.by_method[method], ladder.at_level[method]
            for before, after in spans:
                beyond = [at.get(step) for step in (before, after)]
                parts = [(1, steps[before]), (-1, steps[after])]
                gap = gap_of(contrast(parts, ladder.queries, ladder.kind, beyond=beyond))
                assert gap.excess is not None
                assert gap.beyond_level is not None
                level = gap.excess.mean - gap.beyond_level.mean
                shown = [signed(of) for of in (gap.accuracy, gap.worst, gap.excess)]
                told = *shown, f"{level:+.2f}", signed(gap.beyond_level)
                yield task_set, method.rpartition("/")[2], f"{before} to {after}", *told


def main() -> None:
    """Print the table."""
    columns = "accuracy lost: | wAcc lost: | excess gained: | by the level: | beyond level:"
    printed(f"ladder | head | steps | {columns}", rows())


if __name__ == "__main__":
    main()
