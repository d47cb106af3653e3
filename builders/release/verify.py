"""Verify a release by computing again what can be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest, fingerprint
from benchmark_spec.errors import FSLBenchError, ReleaseError, SourceError, listing
from benchmark_spec.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    SHARD_PICTURES,
    Kind,
    Manifest,
    Table,
    number_of_picture_shards,
    scale_of,
    shard_of,
)
from benchmark_spec.protocol import TaskSetName, suite_of
from benchmark_spec.schemas import type_name
from builders.attributes.table import attribute_problems
from builders.features.shards import are_steps
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.writer import MADE_WITH
from builders.sampling import draw_again
from builders.sources import GENERAL, SOURCES
from builders.sources.image_set import differing_images
from builders.sources.pictures import check_bytes, file_of
from fslbench_data.files import sha256_of
from fslbench_data.release.folder import ReleaseFiles, read_manifest, regular_file
from fslbench_data.release.release import Release
from fslbench_data.release.tables import OUT_OF_THE_FOLDER, number_of_superclasses, read_table
from fslbench_data.render.card import dataset_card, repository_of
from fslbench_data.sampling.redraw import EVIDENCE
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import groups_of
from fslbench_data.validation.validate import validate

Ids = NDArray[np.int64]
Problems = Iterator[str]


@dataclass(frozen=True)
class Problem:
    """A problem in a file of a release."""

    path: str
    what: str


@dataclass(frozen=True)
class Verification:
    """What was checked, and the problems found, in the order of :data:`CHECKS`.

    `drawn_again` counts task sets that were drawn again with an equal digest, `images_read` images
    that were compared with those of the raw folders.
    """

    manifest: Manifest
    drawn_again: int
    problems: tuple[Problem, ...]
    images_read: int = 0


def verify(
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
    *,
    raw: Path | None = None,
    spec: ReleaseSpec | None = None,
) -> Verification:
    """Check every file of a release against the manifest, its provenance and its kind's laws.

    With `raw`, which holds the raw folder of each data set, images are compared with those that the
    data set's source reads there; `spec` has the source's options.  If no source has the data set's
    name, images are files in a folder of that name.

    Raises
    ------
    ReleaseNotFoundError, CorruptReleaseError
        If there is no manifest, or it cannot be read.
    """
    folder, manifest = read_manifest(folder)
    # without results of reference methods, whose names results may not have
    tables = tuple(t for t in manifest.tables if t.kind != "results")
    release = Release(replace(manifest, tables=tables), ReleaseFiles(str(folder)))
    context = _Context(folder, manifest, release, progress, raw, spec)
    problems, order = list[Problem](), list(CHECKS)
    for table in sorted(manifest.tables, key=lambda t: order.index(t.kind)):
        progress(table.path)
        problems += [Problem(table.path, what) for what in _table_problems(context, table)]
    for dataset in manifest.datasets:
        if dataset.name not in context.sizes:
            problems.append(Problem(MANIFEST_FILE, f"{dataset.name} has no classes"))
    problems += [Problem(CARD_FILE, what) for what in _card_problems(manifest, folder)]
    expected = {table.path for table in manifest.tables if not table.drawn}
    paths = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.parquet")))
    problems += [Problem(path, "is not in the manifest") for path in paths if path not in expected]
    return Verification(manifest, context.drawn_again, tuple(problems), context.images_read)


@dataclass
class _Context:
    """The release that is verified, and what is known of it so far."""

    folder: Path
    manifest: Manifest
    release: Release
    progress: Callable[[str], None]
    raw: Path | None
    spec: ReleaseSpec | None
    sizes: dict[str, Ids] = field(default_factory=dict)
    class_names: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, Ids] = field(default_factory=dict)
    shards: dict[tuple[str, str], tuple[pa.DataType, Table]] = field(default_factory=dict)
    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    drawn_again: int = 0
    images_read: int = 0

    def sizes_of(self, entry: Table) -> Ids:
        if entry.dataset not in self.sizes:
            raise ReleaseError(f"cannot be checked without the classes of {entry.dataset}")
        return self.sizes[entry.dataset]


def _table_problems(context: _Context, entry: Table) -> Problems:
    """Yield the problems of one table."""
    try:
        if entry.drawn:
            info = context.release.task_set_info(entry.dataset, entry.name)
            yield from _tasks(context, entry, context.release.task_table(info))
            return
        path = regular_file(context.folder / entry.path, context.folder)
        if path.stat().st_size != entry.bytes or sha256_of(path) != entry.sha256:
            yield "is not the file that was released: its SHA-256 or its size is another"
        table = read_table(path, entry, lambda table: None)
        digest = content_digest(table)
        if digest != entry.digest:
            yield f"its content digest is {digest}, not {entry.digest}"
        yield from CHECKS[entry.kind](context, entry, table)
    except FSLBenchError as error:
        yield str(error)
    except (OSError, pa.ArrowException) as error:
        yield f"cannot be read: {error}"
    except (ValueError, TypeError, IndexError) as error:
        yield f"holds what cannot be checked: {error}"


def _card_problems(manifest: Manifest, folder: Path) -> Problems:
    """Compare the card with one made again, if this version made the release."""
    path = folder / CARD_FILE
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if text and manifest.made_with != MADE_WITH:
        return
    try:
        release = Release(manifest, ReleaseFiles(str(folder)))
        card = dataset_card(manifest, release, repository_of(text))
    except (FSLBenchError, OSError, pa.ArrowException, ValueError, TypeError, LookupError):
        yield "cannot be made again while tables have problems"
        return
    if text != card:
        yield "is not the card of this manifest"


# ---- tables of one kind --------------------------------------------------------------------------


def _is(table: pa.Table, column: str, expected: NDArray[np.integer]) -> bool:
    return np.array_equal(table.column(column).to_numpy(), expected)


def _classes(context: _Context, entry: Table, table: pa.Table) -> Problems:
    schemas.check_classes(table, entry.path)
    counts = table.column("n_images")
    if not table.num_rows or counts.null_count or pc.min(counts).as_py() < 1:
        yield "has no classes, or classes without images"
        return
    sizes: Ids = counts.to_numpy().astype(np.int64)
    names, superclasses = table.column("class_name").to_pylist(), number_of_superclasses(table)
    context.sizes[entry.dataset], context.class_names[entry.dataset] = sizes, names
    about = next(d for d in context.manifest.datasets if d.name == entry.dataset)
    if len(set(names)) != len(names) or not all(names):
        yield "class names are missing, empty or not different"
    if not _is(table, "class_id", np.arange(sizes.size)):
        yield "class ids do not count from 0"
    if not _is(table, "first_image_id", sizes.cumsum() - sizes):
        yield "first image ids are not the sums of the sizes before"
    if (about.n_classes, about.n_images) != (sizes.size, sizes.sum()):
        yield (
            f"has {sizes.size} classes of {sizes.sum()} images; the manifest says "
            f"{about.n_classes} of {about.n_images}"
        )
    if superclasses != about.n_superclasses:
        yield f"has {superclasses} superclasses; the manifest says {about.n_superclasses}"
    if superclasses and not all(table.column("superclass").to_pylist()):
        yield "superclasses are missing or empty"


def _images(context: _Context, entry: Table, table: pa.Table) -> Problems:
    schemas.check(table, schemas.IMAGES, entry.path)
    context.groups[entry.dataset] = groups_of(table)
    sizes = context.sizes_of(entry)
    paths = table.column("path").drop_null()
    if len(pc.unique(paths)) != len(paths):
        yield "two images have the same path"
    if pc.any(pc.match_substring_regex(paths, OUT_OF_THE_FOLDER)).as_py():
        yield "a path leads out of the raw folder"
    digests = table.column("sha256").drop_null()
    if not pc.all(pc.match_substring_regex(digests, "^[0-9a-f]{64}$")).as_py() and len(digests):
        yield "a sha256 is not 64 hexadecimal digits"
    groups = table.column("group").drop_null().to_numpy()
    _, first = np.unique(groups, return_index=True)
    if not np.array_equal(groups[np.sort(first)], np.arange(first.size)):
        yield "groups are not numbered from 0 in the order of their first image"
    names = np.repeat(np.array(context.class_names[entry.dataset], dtype=object), sizes).tolist()
    if table.column("class_name").to_pylist() != names:
        yield "class names are not those of the classes"
    if not _is(table, "image_id", np.arange(sizes.sum())):
        yield "image ids do not count from 0 to the number of images"
    if not _is(table, "class_id", np.repeat(np.arange(sizes.size), sizes)):
        yield "images are not in class order, or not as many as their classes say"
    if context.raw is not None:
        yield from _raw_problems(context, entry, context.raw)
        context.images_read += table.num_rows


def _raw_problems(context: _Context, entry: Table, raw: Path) -> Problems:
    """Yield how the images or superclasses of a raw folder differ from the table."""
    recorded = context.release.images(entry.dataset)
    try:
        known = context.release.superclasses(entry.dataset)
        images, superclasses = _images_now(context, entry, recorded, known, raw)
    except FSLBenchError as error:
        yield f"cannot be compared with {raw}: {error}"
        return
    if paths := differing_images(recorded, images):
        s = "s" if len(paths) != 1 else ""
        note = (
            ""
            if context.spec
            else f" (read from {raw / entry.dataset}; --spec names another place)"
        )
        yield f"{len(paths)} image{s} in {raw} not the released one{s}: {listing(paths)}{note}"
    elif superclasses != known:
        yield f"the superclasses of the classes in {raw} are not the released ones"


def _images_now(
    context: _Context, entry: Table, recorded: pa.Table, known: tuple[str, ...] | None, raw: Path
) -> tuple[pa.Table, tuple[str, ...] | None]:
    """Read the images as they are now, and the superclasses, which are `known` without a source."""
    name = entry.dataset
    declared = {dataset.name: dataset for dataset in context.spec.datasets} if context.spec else {}
    if name in declared or (name in SOURCES and name not in GENERAL):
        dataset = declared.get(name) or DatasetSpec(name, source=name, folder=name)
        partial = "left_out" in entry.provenance
        images = dataset.read(
            raw / dataset.folder, allow_missing=partial, progress=context.progress
        )
        return images.images, images.superclasses
    if not (raw / name).is_dir():
        raise SourceError(
            f"there is no folder {name}, and no source of that name",
            where=str(raw),
            fix="name the specification that the release was made from with --spec",
        )
    paths = recorded.column("path").to_pylist()
    digests: dict[str, str | None] = {}
    for i, file in enumerate(map(file_of, paths)):
        if i % 100 == 0:
            context.progress(f"{name}: {i} of {len(paths)} files read")
        if file not in digests:
            path = raw / name / file
            digests[file] = sha256_of(path) if path.is_file() else None
    return pa.table({"path": paths, "sha256": [digests[file_of(path)] for path in paths]}), known


def _pictures(context: _Context, entry: Table, table: pa.Table) -> Problems:
    schemas.check(table, schemas.PICTURES, entry.path)
    sizes, (shard, shards) = context.sizes_of(entry), shard_of(entry.path)
    first = shard * SHARD_PICTURES
    ids = np.arange(first, min(first + SHARD_PICTURES, int(sizes.sum())))
    if not _is(table, "image_id", ids):
        yield f"has not one row for each image from {first} to {first + len(ids) - 1}, in order"
        return
    if not _is(table, "label", np.searchsorted(sizes.cumsum(), ids, "right")):
        yield "has labels that are not the class ids"
    if shards != number_of_picture_shards(int(sizes.sum())):
        yield f"is one of {shards} shards"
    without = table.column("image").null_count
    stated = sum(entry.provenance.get("without", {}).values())
    if without > stated:
        yield f"lacks {without} pictures; its provenance says {stated} in all"
    broken = [i for i, data in _encoded(table) if check_bytes(data)[1]]
    if broken:
        yield f"holds no pictures of images {listing(broken)}"


def _encoded(table: pa.Table) -> Iterator[tuple[int, bytes]]:
    """Yield the image id and the bytes of each picture that is not withheld."""
    for batch in table.to_batches(max_chunksize=64):
        for image_id, image in zip(*(c.to_pylist() for c in batch.columns[:2]), strict=True):
            if image is not None:
                yield image_id, image["bytes"] or b""


def _attributes(context: _Context, entry: Table, table: pa.Table) -> Problems:
    schemas.check(table, schemas.ATTRIBUTES, entry.path)
    yield from attribute_problems(table, int(context.sizes_of(entry).sum()))


def _features(context: _Context, entry: Table, table: pa.Table) -> Problems:
    images, key = int(context.sizes_of(entry).sum()), (entry.dataset, entry.name)
    schemas.check_features(table, entry.path)
    kind = table.schema.field("feature").type
    first_kind, first = context.shards.setdefault(key, (kind, entry))
    start = context.rows.get(key, 0)
    end = context.rows[key] = start + table.num_rows
    if not _is(table, "image_id", np.arange(start, end)):
        yield f"has not one row for each image from {start} on, in order"
    shard, shards = shard_of(entry.path)
    if end > images or (shard + 1 == shards and end < images):
        yield f"ends with image {end - 1}: has not one row for each of {images} images"
    if type_name(kind) != type_name(first_kind):
        yield f"holds {kind}, the first of its shards {first_kind}"
    if dict(entry.provenance) != dict(first.provenance):
        yield "has another provenance than the first of its shards"
    column = table.column("feature").combine_chunks()
    values = column.flatten()
    missing = column.null_count + values.null_count
    if missing or not np.isfinite(values.to_numpy()).all():
        yield "holds values that are not finite"
        return
    try:
        scale = scale_of(kind.value_type, entry.provenance, "it holds")
    except ReleaseError as error:
        yield str(error)
        return
    if kind.value_type == pa.float32() and not are_steps(values.to_numpy(), scale or 0.0):
        yield f"holds values that are not -127 to 127 steps of {scale}"


def _results(context: _Context, entry: Table, table: pa.Table) -> Problems:
    submission = Submission.read(context.folder / entry.path)
    if list(submission.methods) != [entry.name]:
        yield f"holds results of {listing(list(submission.methods))}"
    validate(submission, context.release)


def _tasks(context: _Context, entry: Table, table: pa.Table) -> Problems:
    name = TaskSetName.parse(entry.name)
    schemas.check(table, schemas.task_set(name), entry.path)
    sizes, groups = context.sizes_of(entry), context.groups.get(entry.dataset)
    if entry.fingerprint != fingerprint(entry.dataset, entry.name, entry.digest):
        yield "its fingerprint is not that of its content"
    if not table.num_rows:
        yield "has no tasks"
        return
    yield from task_problems(table, name, sizes, groups)
    label = suite_of(name.suite).attributes
    attributes = context.release.attributes(entry.dataset, label) if label else None
    if EVIDENCE in entry.provenance:  # estimates need features: check what follows from them
        evidence, protocol = QueryEvidence.parse(entry.provenance[EVIDENCE]), name.protocol
        if evidence.query != protocol.query:
            yield f"its evidence is for {evidence.query} queries, not {protocol.query}"
        shape = evidence.suite, protocol.way, protocol.shot
        yield from evidence.problems(Draws.of(context.release, entry.dataset, *shape))
    paths = context.release.paths(entry.dataset) if entry.provenance.get("test") else None
    known = entry.provenance, len(table), groups, attributes, paths
    drawn = draw_again(entry.dataset, name, sizes.tolist(), *known)
    if content_digest(drawn) != entry.digest:
        yield "the tasks drawn again from its provenance are others"
    else:
        context.drawn_again += 1


CHECKS: dict[Kind, Callable[[_Context, Table, pa.Table], Problems]] = {
    "classes": _classes,
    "images": _images,
    "pictures": _pictures,
    "attributes": _attributes,
    "tasks": _tasks,
    "features": _features,
    "results": _results,
}
"""The check of each kind of table, in the order in which they run."""


# ---- the laws of task sets -----------------------------------------------------------------------


def task_problems(
    table: pa.Table, name: TaskSetName, sizes: Ids, groups: Ids | None = None
) -> Problems:
    """Yield how a task set breaks the laws of its suite, given class sizes and groups."""
    way, shot, query = name.protocol.way, name.protocol.shot, name.protocol.query
    if not _is(table, "task_id", np.arange(table.num_rows)):
        yield "task ids do not count from 0"
    if name.varies:  # only drawn again
        return
    class_ids, support, queries, labels = (
        table.column(key).combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
        for key in ("class_ids", "support", "query", "query_label")
    )
    images = np.concatenate([support, queries], axis=1)
    if class_ids.min() < 0 or class_ids.max() >= sizes.size:
        yield f"names classes beyond {sizes.size}"
        return
    if images.min() < 0 or images.max() >= sizes.sum():
        yield f"names images beyond {sizes.sum()}"
        return
    class_of = np.searchsorted(sizes.cumsum(), images, "right")
    uneven = np.zeros((1, 1), bool)
    if not name.whole:
        uneven = np.sort(labels, axis=1) != np.repeat(np.arange(way), query)
    of_label = np.take_along_axis(class_ids, labels.astype(np.int64) % way, axis=1)
    of_support = np.repeat(class_ids, shot, axis=1)
    for wrong, what in (
        (_twice(class_ids), "a class twice"),
        (uneven.any(axis=1), f"not {query} queries of each class"),
        ((class_of[:, : way * shot] != of_support).any(axis=1), "support images of other classes"),
        ((class_of[:, way * shot :] != of_label).any(axis=1), "mislabelled queries"),
        (_twice(images), "an image twice, perhaps on both sides"),
    ):
        yield from _tasks_where(np.asarray(wrong, np.bool_), what)
    if name.interval == "open" and (repeated := images.size - np.unique(images).size):
        yield f"{repeated} images are used twice in the set, though its suite forbids it"
    if name.suite == "grouped" and groups is not None:
        used = groups[images.reshape(-1)]
        used = used[used >= 0]
        if np.unique(used).size != used.size:
            yield "images of one group are used twice in the set"
    if name.suite == "pooled" and groups is not None:
        units = np.where(groups[images] < 0, -1 - images, groups[images])
        yield from _tasks_where(_twice(units), "two images of one group")


def _twice(values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return for each row of values (T, n) whether it has one twice."""
    ordered = np.sort(values, axis=1)
    twice: NDArray[np.bool_] = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return twice


def _tasks_where(wrong: NDArray[np.bool_], what: str) -> Problems:
    if wrong.any():
        numbers = listing(np.flatnonzero(wrong).tolist())
        yield f"task{'s' if wrong.sum() > 1 else ''} {numbers}: {what}"
