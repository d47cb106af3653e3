"""The differences between two releases, and which version number they raise."""

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
"""Kinds of tables that results depend on, so that a change of their content is a major one."""


@dataclass(frozen=True)
class Change:
    """One difference, in a file or data set, and the version number that it raises."""

    level: Level
    what: str
    where: str


@dataclass(frozen=True)
class Difference:
    """All differences from one release to another, from major to patch, then by place.

    `raised` is the level by which the second version is above the first, None if it is not.
    """

    changes: tuple[Change, ...]
    raised: Level | None

    @property
    def needed(self) -> Level | None:
        """The highest level among the changes, None if the releases are equal."""
        return self.changes[0].level if self.changes else None

    @property
    def too_large(self) -> tuple[Change, ...]:
        """The changes that are too large for the second release's version."""
        raised = LEVELS.index(self.raised) if self.raised else -1
        return tuple(change for change in self.changes if LEVELS.index(change.level) > raised)


def diff(old: Release, new: Release) -> Difference:
    """Compare two releases by content; docs/releases.md has the level of each change."""
    changes = [*_datasets(old.manifest, new.manifest), *_tables(old, new)]
    if old.manifest.name != new.manifest.name:
        changes.append(Change("major", f"renamed to {new.manifest.name}", old.manifest.name))
    if old.manifest.description != new.manifest.description:
        changes.append(Change("patch", "the description differs", "release"))
    changes.sort(key=lambda change: -LEVELS.index(change.level))
    before, after = (tuple(map(int, r.manifest.version.split("."))) for r in (old, new))
    numbers = zip(reversed(LEVELS), before, after, strict=True)
    raised = next(level for level, a, b in numbers if a != b) if after > before else None
    return Difference(tuple(changes), raised)


def check_version(old: Release, new: Release, fix: str = "") -> None:
    """Raise a ReleaseError if a release's version is too low for the changes since another."""
    too_large = diff(old, new).too_large
    if not too_large:
        return
    before = old.manifest.version
    needed = next_version(before, too_large[0].level)
    raise ReleaseError(
        f"{new.manifest.version} says less than has changed since {before}: "
        f"{many(len(too_large), 'change needs', 'changes need')} {needed}",
        where=listing([f"{change.where}: {change.what} ({change.level})" for change in too_large]),
        expected=f"a version from {needed} on",
        fix=fix
        or f"give the release that version and build it again, or keep what {before} has; "
        "fslbench-build diff lists every change",
    )


def next_version(version: str, level: Level) -> str:
    """Return the lowest version that is above another by a level."""
    numbers, position = version.split("."), len(LEVELS) - 1 - LEVELS.index(level)
    raised = [*numbers[:position], str(int(numbers[position]) + 1), "0", "0"]
    return ".".join(raised[: len(LEVELS)])


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
            if not field.startswith("n_")  # numbers change with the tables
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
    """Map paths to the tables of a release; the shards of a feature set share one path."""
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
        before, after = _flat(was.provenance), _flat(now.provenance)
        changes = [
            f"{key} {before.get(key, 'none')} (now {after.get(key, 'none')})"
            for key in sorted(before | after)
            if before.get(key) != after.get(key)
        ]
        what = f"same content and digest, but recorded as made with {listing(changes, 6)}"
        yield Change("patch", what, now.path)
    elif was.sha256 != now.sha256 and not (was.drawn or now.drawn):  # drawn tables have no file
        yield Change("patch", "same content, written otherwise", now.path)


def _flat(provenance: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in provenance.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = quoted(value, 60)
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
    before, after = (
        r.task_table(r.task_set_info(was.dataset, was.name)).drop_columns("task_id").to_pylist()
        for r in (old, new)
    )
    pairs = zip(before, after, strict=False)
    changed = next(
        (task_id for task_id, (task, new_task) in enumerate(pairs) if task != new_task), None
    )
    if changed is None:
        shared = min(len(before), len(after))
        return f"{len(before)} tasks became {len(after)}, of which the first {shared} are equal"
    return f"{_rows(was)} became {_rows(now)}, the first other one is task {changed}"
