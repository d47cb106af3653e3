"""The differences between two releases, and the number of the version that they raise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmark_spec.digest import content_digest_of
from benchmark_spec.errors import ReleaseError, listing, many, quoted
from benchmark_spec.manifest import Dataset, Manifest, Table, without_shard
from builders.sources.image_set import differing_images
from fslbench_data.release.release import Release
from fslbench_data.release.tables import read_table

Level = Literal["patch", "minor", "major"]
LEVELS: tuple[Level, ...] = ("patch", "minor", "major")

_FROZEN = ("classes", "images", "tasks")
"""Kinds of tables that results depend on: a change of their content is a major one."""


@dataclass(frozen=True)
class Change:
    """One difference: of which file or data set, what, and the version number it raises."""

    level: Level
    what: str
    where: str


@dataclass(frozen=True)
class Difference:
    """All differences from one release to another, from major to patch, then by place.

    `raised` is the level by which the second version is above the first; None where it is not.
    """

    changes: tuple[Change, ...]
    raised: Level | None

    @property
    def needed(self) -> Level | None:
        """The highest level among the changes; None where the releases are equal."""
        return self.changes[0].level if self.changes else None

    @property
    def too_large(self) -> tuple[Change, ...]:
        """The changes that are too large for the second release's version."""
        raised = LEVELS.index(self.raised) if self.raised else -1
        return tuple(change for change in self.changes if LEVELS.index(change.level) > raised)


def diff(old: Release, new: Release) -> Difference:
    """Compare two releases by content, as docs/releases.md weighs changes."""
    changes = [*_datasets(old.manifest, new.manifest), *_tables(old, new)]
    if old.manifest.name != new.manifest.name:
        changes.append(Change("major", f"renamed to {new.manifest.name}", old.manifest.name))
    if old.manifest.description != new.manifest.description:
        changes.append(Change("patch", "the description differs", "release"))
    changes.sort(key=lambda change: -LEVELS.index(change.level))
    a, b = (tuple(map(int, r.manifest.version.split("."))) for r in (old, new))
    numbers = zip(reversed(LEVELS), a, b, strict=True)
    raised = next(level for level, x, y in numbers if x != y) if b > a else None
    return Difference(tuple(changes), raised)


def check_version(old: Release, new: Release, fix: str = "") -> None:
    """Refuse a release if its version is too low for the changes since another."""
    large = diff(old, new).too_large
    if not large:
        return
    needed, before = next_version(old.manifest.version, large[0].level), old.manifest.version
    raise ReleaseError(
        f"{new.manifest.version} says less than has changed since {before}: "
        f"{many(len(large), 'change needs', 'changes need')} {needed}",
        where=listing([f"{change.where}: {change.what} ({change.level})" for change in large]),
        expected=f"a version from {needed} on",
        fix=fix
        or f"give the release that version and build it again, or keep what {before} has; "
        "fslbench-build diff lists every change",
    )


def next_version(version: str, level: Level) -> str:
    """Return the lowest version above another by a level."""
    numbers, raised = version.split("."), len(LEVELS) - 1 - LEVELS.index(level)
    later = [*numbers[:raised], str(int(numbers[raised]) + 1), "0", "0"]
    return ".".join(later[: len(LEVELS)])


def _datasets(old: Manifest, new: Manifest) -> Iterator[Change]:
    before, after = ({d.name: d for d in m.datasets} for m in (old, new))
    for name in sorted(before.keys() - after.keys()):
        yield Change("major", "the data set is gone", name)
    for name in sorted(after.keys() - before.keys()):
        yield Change("minor", "the data set is new", name)
    for name in sorted(before.keys() & after.keys()):
        texts = [
            field
            for field in Dataset.__struct_fields__
            if not field.startswith("n_")  # what changes with the classes
            and getattr(before[name], field) != getattr(after[name], field)
        ]
        if texts:
            yield Change("patch", f"{', '.join(texts)} changed", name)


def _tables(old: Release, new: Release) -> Iterator[Change]:
    before, after = (_by_table(r.manifest) for r in (old, new))
    for key in sorted(before.keys() - after.keys()):
        yield Change("major", f"gone: {_rows(*before[key])}", before[key][0].path)
    for key in sorted(after.keys() - before.keys()):
        yield Change("minor", f"new: {_rows(*after[key])}", after[key][0].path)
    for key in sorted(before.keys() & after.keys()):
        if [t.path for t in before[key]] != [t.path for t in after[key]]:
            yield _other_shards(before[key], after[key], old, new)
            continue
        for was, now in zip(before[key], after[key], strict=True):
            yield from _table(was, now, old, new)


def _by_table(manifest: Manifest) -> dict[str, list[Table]]:
    """Map paths to the tables of a release; the shards of a feature set have one together."""
    tables: dict[str, list[Table]] = {}
    for table in manifest.tables:
        tables.setdefault(without_shard(table.path), []).append(table)
    return tables


def _table(was: Table, now: Table, old: Release, new: Release) -> Iterator[Change]:
    if was.digest != now.digest:
        level: Level = "major" if was.kind in _FROZEN else "minor"
        yield Change(level, f"other content: {_content(was, now, old, new)}", now.path)
    elif was.provenance.get("scale") != now.provenance.get("scale"):
        yield Change("minor", "other content: the values stand for others", now.path)
    elif dict(was.provenance) != dict(now.provenance):
        a, b = (_flat(table.provenance) for table in (was, now))
        keys = [key for key in sorted(a | b) if a.get(key) != b.get(key)]
        made = [f"{key} {a.get(key, 'none')} (now {b.get(key, 'none')})" for key in keys]
        what = f"same content and digest, but recorded as made with {listing(made, 6)}"
        yield Change("patch", what, now.path)
    elif was.sha256 != now.sha256 and not (was.drawn or now.drawn):  # those have no file
        yield Change("patch", "same content, written otherwise", now.path)


def _flat(provenance: Mapping[str, Any], within: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in provenance.items():
        name = f"{within}{key}"
        flat |= (
            _flat(value, f"{name}.") if isinstance(value, Mapping) else {name: quoted(value, 60)}
        )
    return flat


def _other_shards(was: list[Table], now: list[Table], old: Release, new: Release) -> Change:
    """Return the change of a feature set that is cut into other shards."""

    def content(shards: list[Table], release: Release) -> tuple[str, Any]:
        tables = (read_table(release.files.path(t), t, lambda table: None) for t in shards)
        return content_digest_of(tables), shards[0].provenance.get("scale")

    shards = f"{len(was)} shards became {len(now)}"
    if content(was, old) == content(now, new):
        return Change("patch", f"same content, {shards}", now[0].path)
    what = f"other content: {_rows(*was)} became {_rows(*now)}, {shards}"
    return Change("minor", what, now[0].path)


def _rows(*tables: Table) -> str:
    return f"{sum(t.rows for t in tables)} {'tasks' if tables[0].kind == 'tasks' else 'rows'}"


def _content(was: Table, now: Table, old: Release, new: Release) -> str:
    if was.kind == "images":
        others = differing_images(old.images(was.dataset), new.images(now.dataset))
        which = f"; changed or gone: {listing(others, 4)}" if others else ""
        return f"{_rows(was)} became {_rows(now)}{which}"
    if was.kind != "tasks":
        return f"{_rows(was)} became {_rows(now)}"
    a, b = (r.task_table(r.task_set_info(was.dataset, was.name)) for r in (old, new))
    pairs = zip(*(table.drop_columns("task_id").to_pylist() for table in (a, b)), strict=False)
    other = next((task for task, (one, two) in enumerate(pairs) if one != two), None)
    if other is None:
        shared = min(len(a), len(b))
        return f"{len(a)} tasks became {len(b)}, of which the first {shared} are equal"
    return f"{_rows(was)} became {_rows(now)}, the first other one is task {other}"
