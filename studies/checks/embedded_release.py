"""Make the whole embedded release again from its specification and the packages.

Every table must have the digest that the release has, but those that networks have made.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from msgspec import structs

from benchmark_spec.manifest import Table
from benchmark_spec.protocol import TaskSetName
from builders.release.build import build_release
from builders.release.spec import DatasetSpec, MethodsSpec
from builders.release.spec_file import find_spec, read_spec
from fslbench_data.release.chosen_queries import chosen_queries
from fslbench_data.release.release import Release, load_release
from studies.checks._packages import fetched

PACKAGED = ("groceries", "openclipart", "emoji", "fashion_mnist", "glyphs_sample")


def of_networks(table: Table) -> bool:
    """Tell whether a table's numbers come from a network."""
    return table.kind in ("features", "results") and not table.name.startswith("pixels")


def chosen(release: Release, dataset: str) -> dict[tuple[int, int], int]:
    """Return numbers of queries by ways and shots, which took features to choose."""
    names = [name for choice in chosen_queries(release, [dataset]) for name in choice.task_sets]
    protocols = [TaskSetName.parse(name).protocol for name in names]
    return {(protocol.way, protocol.shot): protocol.query for protocol in protocols}


def without_networks(each: DatasetSpec, release: Release, heads: bool) -> DatasetSpec:
    """Return what a data set has without networks: features of pixels, and heads on them."""
    each = each.with_queries(chosen(release, each.name))
    held = tuple(name for name in each.features if name == "pixels")
    more = tuple(name for name in each.backbones if name == "pixels" and heads)
    return structs.replace(
        each,
        fine_tuning=None,
        queries=None,
        features=held,
        backbones=more,
        heads=each.heads if heads and (held or more) else (),
        methods_of={
            suite: of if heads and set(of.features) == {"pixels"} else MethodsSpec((), ())
            for suite, of in each.methods_of.items()
        },
    )


def digests_of_both(
    packages: Path, work: Path, only: Collection[str] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Make the release again; give digests by path, of the tables made and of the release's.

    With `only` some data sets, and then without results, whose tables are of all.
    """
    raw = work / "raw"
    raw.mkdir()
    for folder in {*PACKAGED, "digits"}:
        (raw / folder).symlink_to(packages)
    spec, release = read_spec(find_spec(Path("embedded"))), load_release()
    datasets = tuple(
        without_networks(each, release, heads=only is None)
        for each in spec.datasets
        if only is None or each.name in only
    )
    again = structs.replace(spec, datasets=datasets)
    made = build_release(again, work / "release", raw=raw)
    names = {each.name for each in datasets}
    expected = {
        table.path: table.digest
        for table in release.manifest.tables
        if not of_networks(table)
        and (table.dataset in names or (only is None and table.kind == "results"))
    }
    return {table.path: table.digest for table in made.tables}, expected


def main() -> None:
    """Make everything again and compare."""
    packages = fetched(*PACKAGED)
    with tempfile.TemporaryDirectory() as work:
        made, expected = digests_of_both(packages, Path(work))
    other = sorted(path for path in made.keys() | expected if made.get(path) != expected.get(path))
    kinds = Counter(path.partition("/")[0] for path in expected)
    print(f"{len(expected)} tables of the embedded release, made again from its specification:")
    for kind, number in sorted(kinds.items()):
        wrong = sum(path.startswith(f"{kind}/") for path in other)
        print(f"  {kind}: {number}, of which {wrong} differ")
    assert not other, other
