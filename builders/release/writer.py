"""Write the tables of a release into its folder, with a journal of them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from benchmark_spec import schemas
from benchmark_spec.errors import OutputError, SpecError, UnknownNameError
from benchmark_spec.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    Dataset,
    Kind,
    Manifest,
    Table,
    as_json,
    check_manifest,
    check_redistribution,
    number_of_picture_shards,
    number_of_shards,
    scale_of,
    table_path,
)
from benchmark_spec.naming import check_attribute_set_name, check_dataset_name
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.version import __version__
from builders.attributes.table import check_attributes_table
from builders.execution.parquet import (
    write_pictures,
    write_results,
    write_shard,
    written,
)
from builders.execution.steps import Journal, Made, Step, check_folder
from builders.features.shards import Pieces, cut
from builders.sources.image_set import About
from fslbench_data.files import clear_temporary, write_whole
from fslbench_data.release.folder import UNFINISHED, ReleaseFiles, read_manifest
from fslbench_data.release.release import Release, load_release
from fslbench_data.release.tables import write_table
from fslbench_data.render.card import dataset_card
from fslbench_data.sampling.draw import first_image_ids
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate

JOURNAL_FILE, LOCK_FILE = UNFINISHED, ".building.lock"

MADE_WITH = f"fslbench {__version__}"

KEPT = ".features"
"""The subfolder of an unfinished release for unfinished work and features it will not hold."""


class ReleaseWriter:
    """Writes the tables of a release into its folder, except those a previous run has written.

    Every file appears whole or not at all, the manifest last.  A build of the same release, perhaps
    by another `recipe`, continues an unfinished one: a step is kept if its inputs did not change.
    """

    def __init__(
        self, folder: Path | str, name: str, version: str, description: str, *, recipe: str = ""
    ) -> None:
        self.folder = Path(folder)
        self._manifest = Manifest(
            name,
            version,
            description,
            (),
            (),
            made_with=MADE_WITH,
            specification=_specification_of(recipe),
        )
        check_manifest(self._manifest)
        check_folder(
            self.folder,
            JOURNAL_FILE,
            LOCK_FILE,
            "an unfinished build of the same release: a release",
        )
        self.journal = Journal(self.folder, JOURNAL_FILE, LOCK_FILE, "build")
        self.journal.begin(
            {"release": name, "fslbench": __version__},
            other="another release",
            expected="the same name and package version as when it was begun",
        )
        (self.folder / MANIFEST_FILE).unlink(missing_ok=True)  # of a run that ended while finishing

    def run(self, steps: Iterable[Step]) -> None:
        """Make the tables of each step, unless a previous run has made them of the same inputs."""
        for step in steps:
            made = self.journal.kept(step)
            if made is None:
                self.journal.make(step)
                continue
            datasets = msgspec.convert(made.result["datasets"], list[Dataset])
            tables = msgspec.convert(made.result["tables"], list[Table])
            self._manifest = self._with(tables, datasets)

    def add_dataset(
        self,
        name: str,
        about: About,
        class_names: Sequence[str],
        class_sizes: Sequence[int],
        images: pa.Table | None = None,
        provenance: Mapping[str, Any] | None = None,
        superclasses: Sequence[str] | None = None,
    ) -> Made:
        """Add a data set's classes, in their frozen order, and its images if they are known."""
        if len(set(class_names)) != len(class_names) or len(class_names) != len(class_sizes):
            raise SpecError(f"{name}: classes need one size each, and names of their own")
        if superclasses is not None and (
            len(superclasses) != len(class_names) or not all(superclasses)
        ):
            raise SpecError(f"{name}: classes need one superclass each, or none has any")
        check_redistribution(about.redistribution, name)
        dataset = Dataset(
            check_dataset_name(name),
            n_classes=len(class_names),
            n_images=sum(class_sizes),
            n_superclasses=len(set(superclasses or ())),
            **vars(about),
        )
        self._manifest = self._with((), [dataset])
        classes = pa.table(
            {
                "class_id": range(len(class_names)),
                "class_name": class_names,
                "n_images": class_sizes,
                "first_image_id": first_image_ids(class_sizes),
            },
            schema=schemas.CLASSES,
        )
        if superclasses is not None:
            column = pa.array(superclasses, pa.string())
            classes = classes.append_column(schemas.CLASSES_OPTIONAL.field("superclass"), column)
        if images is not None:
            schemas.check(images, schemas.IMAGES, f"images of {name}")
        provenance = provenance or {}
        tables = self._write("classes", name, "", [classes], provenance, write_table)
        if images is not None:
            tables += self._write("images", name, "", [images], provenance, write_table)
        return self._made(tables, [dataset])

    def add_tasks(
        self,
        dataset: str,
        name: TaskSetName,
        table: pa.Table,
        provenance: Mapping[str, Any],
        *,
        drawn: bool = False,
    ) -> Made:
        """Add a task set; one that is `drawn` has no file, only its provenance and digest."""
        schemas.check(table, schemas.task_set(name), f"{dataset}/{name}")
        write = None if drawn else write_table
        return self._add("tasks", dataset, str(name), [table], provenance, write)

    def add_features(
        self, dataset: str, backbone: str, features: Pieces, provenance: Mapping[str, Any]
    ) -> Made:
        """Add the features of all images of a data set, in shards, of which one is in memory.

        If the provenance has a `scale`, they are int8 multiples of it, and their products with it
        are written.
        """
        images, where = self._dataset(dataset).n_images, f"{backbone} of {dataset}"
        scale = scale_of(pa.float32(), provenance, where) if "scale" in provenance else None
        shards = number_of_shards(images)

        def tables() -> Iterator[pa.Table]:
            for table in cut(features, images, where, scale):
                scale_of(table.schema.field("feature").type.value_type, provenance, where)
                yield table

        write = partial(write_shard, shards=shards)
        return self._add("features", dataset, backbone, tables(), provenance, write, shards)

    def add_pictures(
        self,
        dataset: str,
        shards: Iterable[pa.Table],
        class_names: Sequence[str],
        provenance: Mapping[str, Any],
    ) -> Made:
        """Add the pictures of a data set, in shards, of which one is in memory."""
        count = number_of_picture_shards(self._dataset(dataset).n_images)
        write = partial(write_pictures, class_names=class_names)
        return self._add("pictures", dataset, "", shards, provenance, write, count)

    def add_attributes(
        self, dataset: str, name: str, table: pa.Table, provenance: Mapping[str, Any]
    ) -> Made:
        """Add the attributes of all images of a data set, as make_attributes returns them."""
        check_attribute_set_name(name, dataset)
        where = f"attributes {name} of {dataset}"
        check_attributes_table(table, self._dataset(dataset).n_images, where)
        return self._add("attributes", dataset, name, [table], provenance, write_table)

    def add_results(self, submission: Submission, provenance: Mapping[str, Any]) -> Made:
        """Add a reference method's results, checked against the task sets added so far."""
        (method,) = validate(submission, self.so_far()).methods

        def write(_: pa.Table, path: Path) -> None:
            write_results(submission, path)

        return self._add("results", "", method, [submission.table], provenance, write)

    def digest(self, kind: Kind, dataset: str, name: str = "") -> str:
        """Return the content digest of a written table of one file; empty if there is none."""
        key = (kind, dataset, name)
        tables = self._manifest.tables
        return next((t.digest for t in tables if (t.kind, t.dataset, t.name) == key), "")

    def so_far(self) -> Release:
        """Return the release with the tables written so far."""
        return Release(self._manifest, ReleaseFiles(str(self.folder.resolve())))

    def finish(self) -> Manifest:
        """Write the dataset card and the manifest, and return the latter."""
        manifest = self._manifest
        check_manifest(manifest)
        self._remove_others()
        card = dataset_card(manifest, self.so_far())
        write_whole(self.folder / CARD_FILE, card)
        write_whole(self.folder / MANIFEST_FILE, manifest.to_json())
        self.journal.remove()
        return manifest

    def _with(self, tables: Sequence[Table], datasets: Sequence[Dataset] = ()) -> Manifest:
        """Return the manifest with more tables and data sets."""
        before = self._manifest
        by_name = {dataset.name: dataset for dataset in (*before.datasets, *datasets)}
        return replace(before, datasets=tuple(by_name.values()), tables=(*before.tables, *tables))

    def _dataset(self, name: str) -> Dataset:
        known = {dataset.name: dataset for dataset in self._manifest.datasets}
        if name not in known:
            raise UnknownNameError("data set", name, known, fix="add_dataset it first")
        return known[name]

    def _write(
        self,
        kind: Kind,
        dataset: str,
        name: str,
        tables: Iterable[pa.Table],
        provenance: Mapping[str, Any],
        write: Callable[[pa.Table, Path], None] | None,
        shards: int = 1,
    ) -> list[Table]:
        """Write the shards of a new table, and return their entries of the manifest."""
        about = (kind, self._dataset(dataset).name if dataset else "", name)
        path = table_path(*about, 0, shards)
        if any(t.path == path for t in self._manifest.tables):
            raise SpecError(f"{path} would be written twice ({name or dataset})")
        return list(written(self.folder, *about, tables, provenance, write, shards))

    def _add(self, *table: Any) -> Made:
        """Write a table as :meth:`_write` does, and add it to the manifest."""
        return self._made(self._write(*table))

    def _made(self, tables: Sequence[Table], datasets: Sequence[Dataset] = ()) -> Made:
        """Add written tables to the manifest, and return them as the result of a step."""
        manifest = self._with(tables)
        check_manifest(manifest)
        self._manifest = manifest
        return Made(
            {table.path: table.sha256 for table in tables if not table.drawn},
            {
                "datasets": [as_json(dataset) for dataset in datasets],
                "tables": [as_json(table) for table in tables],
            },
        )

    def _remove_others(self) -> None:
        """Remove tables that are not of this release, and unfinished work."""
        shutil.rmtree(self.folder / KEPT, ignore_errors=True)
        kept = {self.folder / table.path for table in self._manifest.tables if not table.drawn}
        for kind in get_args(Kind):
            for path in sorted((self.folder / kind).rglob("*"), reverse=True):
                if path.is_dir():
                    with suppress(OSError):  # it is not empty
                        path.rmdir()
                elif path.suffix == ".parquet" and path not in kept:
                    path.unlink()
            with suppress(OSError):
                (self.folder / kind).rmdir()


def is_finished(folder: Path) -> bool:
    """Return whether a folder holds a finished release."""
    return (folder / MANIFEST_FILE).is_file() and not (folder / JOURNAL_FILE).exists()


def finished_release(folder: Path, name: str, version: str, recipe: str) -> Manifest | None:
    """Return the manifest if a build of the same release has finished in a folder, else None."""
    if not is_finished(folder):
        return None
    manifest = read_manifest(folder)[1]
    build = (name, version, _specification_of(recipe), MADE_WITH)
    if (manifest.name, manifest.version, manifest.specification, manifest.made_with) != build:
        raise OutputError(
            f"{folder} holds a finished release of another specification or version of fslbench",
            where=f"{manifest.name}@{manifest.version}, made with {manifest.made_with}",
            expected="a new or empty folder: a release is never edited in place",
            fix="name another folder with -o",
        )
    clear_temporary(folder, deep=True)  # what killed runs left
    (folder / LOCK_FILE).unlink(missing_ok=True)
    return load_release(folder).manifest


def _specification_of(recipe: str) -> str:
    """Return the SHA-256 (hex) of a recipe, as in the manifest; empty without one."""
    return hashlib.sha256(recipe.encode("utf-8")).hexdigest() if recipe else ""
