"""Writing a release: tables one by one, then the card, and last the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest, fingerprint
from benchmark_spec.errors import OutputError, SpecError, UnknownNameError
from benchmark_spec.feature_sets import number_of_shards, scale_of
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Manifest, check_manifest
from benchmark_spec.naming import check_attribute_set_name, check_dataset_name
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import (
    Dataset,
    Kind,
    Redistribution,
    Table,
    check_redistribution,
    table_path,
)
from benchmark_spec.version import __version__
from builders.attributes.table import check_attributes_table
from builders.execution.parquet import LARGE_FEATURES, write_features, write_results, write_table
from builders.features.shards import Pieces, cut
from builders.release.card import dataset_card
from builders.release.finished import MADE_WITH, specification_of
from builders.release.journal import BuildJournal
from builders.sampling.tasks import first_image_ids
from fslbench_data.files import sha256_of, write_whole
from fslbench_data.release.folder import Folder
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import validate


class ReleaseWriter:
    """Writes a release into a folder, and goes on where an earlier run was stopped.

    Every file appears whole or not at all.  The manifest comes last: until :meth:`finish`
    the folder is no release, but a journal says what is done.

    Parameters
    ----------
    folder
        A folder that does not exist, is empty, or holds an unfinished build of the same release.
    name, version, description
        Of the release; the version is semantic, such as 1.0.0.
    recipe
        What else must be equal for an unfinished build to be continued.
    """

    def __init__(
        self, folder: Path | str, name: str, version: str, description: str, *, recipe: str = ""
    ) -> None:
        self.folder = Path(folder)
        self._about = (name, version, description)
        self._specification = specification_of(recipe)
        self._datasets: dict[str, Dataset] = {}
        self._tables: list[Table] = []
        check_manifest(self._manifest())
        build = {"release": f"{name} {version}", "specification": recipe, "fslbench": __version__}
        self._journal = BuildJournal(self.folder, build)

    def has_dataset(self, name: str) -> bool:
        """Whether an earlier run wrote a data set's classes and images; they are then kept."""
        known = self._journal.datasets.get(name)
        entries = [
            entry
            for entry in self._journal.tables.values()
            if entry.kind in ("classes", "images") and entry.dataset == name
        ]
        whole = [self._journal.whole(entry.path) for entry in entries]
        if known is None or not entries or None in whole:
            return False
        self._datasets[name] = known
        self._tables += entries
        return True

    def raw_state(self, dataset: str) -> str | None:
        """The state of a data set's raw folder when its images were read; None if unknown."""
        return self._journal.raw.get(dataset)

    def keep_raw_state(self, dataset: str, state: str) -> None:
        """Keep it, for the runs that go on."""
        if self.raw_state(dataset) != state:
            self._journal.raw[dataset] = state
            self._journal.add((), ())

    def has(self, kind: Kind, dataset: str, name: str) -> bool:
        """Whether an earlier run wrote that table, of features all shards; it is then kept."""
        known = self._datasets.get(dataset)
        shards = number_of_shards(known.n_images) if kind == "features" and known else 1
        found = [
            self._journal.whole(table_path(kind, dataset, name, shard, shards))
            for shard in range(shards)
        ]
        entries = [entry for entry in found if entry is not None and entry.name == name]
        if len(entries) < shards or any(e.provenance != entries[0].provenance for e in entries):
            return False
        self._tables += entries
        return True

    def add_dataset(
        self,
        name: str,
        *,
        title: str,
        homepage: str,
        licence: str,
        citation: str,
        class_names: Sequence[str],
        class_sizes: Sequence[int],
        note: str = "",
        redistribution: Redistribution = "tables",
        images: pa.Table | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a data set's classes, and its images where they are known.

        Parameters
        ----------
        class_names, class_sizes
            In the frozen order of classes.
        redistribution
            What the licence lets others pass on.
        images
            Of the schema :data:`benchmark_spec.schemas.IMAGES`.
        provenance
            Where classes, counts and images come from.
        """
        if name in self._datasets:
            raise SpecError(f"data set {name!r} is described twice")
        if len(set(class_names)) != len(class_names) or len(class_names) != len(class_sizes):
            raise SpecError(f"{name}: classes need one size each, and names of their own")
        sizes = np.asarray(class_sizes, np.int64)
        total = int(sizes.sum())
        self._datasets[check_dataset_name(name)] = Dataset(
            name,
            title,
            homepage,
            licence,
            citation,
            len(class_names),
            total,
            note,
            check_redistribution(redistribution, name),
        )
        classes = pa.table(
            {
                "class_id": pa.array(range(len(class_names)), pa.int32()),
                "class_name": pa.array(class_names, pa.string()),
                "n_images": pa.array(class_sizes, pa.int32()),
                "first_image_id": pa.array(first_image_ids(class_sizes), pa.int32()),
            },
            schema=schemas.CLASSES,
        )
        if images is not None:
            schemas.check(images, schemas.IMAGES, f"images of {name}")
            of_class = images.column("class_id").to_numpy()
            if not np.array_equal(of_class, np.repeat(np.arange(sizes.size), sizes)):
                raise SpecError(f"images of {name} are not in class order, or not as many")
            if not np.array_equal(images.column("image_id").to_numpy(), np.arange(total)):
                raise SpecError(f"image ids of {name} are not 0..{total - 1}")
        self._write("classes", name, "", classes, provenance or {})
        if images is not None:
            self._write("images", name, "", images, provenance or {})
        self._journal.add([self._datasets[name]], self._tables)

    def add_tasks(
        self, dataset: str, name: TaskSetName, table: pa.Table, provenance: Mapping[str, Any]
    ) -> None:
        """Add a task set, as :func:`builders.sampling.draw_task_set` returns it."""
        schemas.check(table, schemas.task_set(name), f"{dataset}/{name}")
        self._write("tasks", dataset, str(name), table, provenance)

    def add_features(
        self, dataset: str, backbone: str, features: Pieces, provenance: Mapping[str, Any]
    ) -> None:
        """Add the features of all images of a data set, in shards.

        What an earlier run has written of them is not written again if it is the same.

        Parameters
        ----------
        features
            A table of the schema :func:`benchmark_spec.schemas.features`; or an iterator of such
            tables and of arrays (n, D), float16 or int8, of which one shard is held in memory.
            In the order of image ids.
        provenance
            Of int8 features with `scale`.

        Raises
        ------
        SpecError, SchemaError
            If they are not one finite row for each image, in order, of one type.
        """
        images, where = self._dataset(dataset).n_images, f"{backbone} of {dataset}"
        shards, entries = number_of_shards(images), []
        for shard, table in enumerate(cut(features, images, where)):
            scale_of(table.schema.field("feature").type.value_type, provenance, where)
            path = self._new(table_path("features", dataset, backbone, shard, shards), backbone)
            entry = self._journal.same(path, table, provenance)
            if entry is None or entry.name != backbone:
                large = shards > 1 or table.nbytes >= LARGE_FEATURES
                write = partial(write_features if large else write_table, table)
                entry = self._written(path, "features", dataset, backbone, table, provenance, write)
                self._journal.add((), [entry])
            entries.append(entry)
        self._keep(entries)

    def add_attributes(
        self, dataset: str, name: str, table: pa.Table, provenance: Mapping[str, Any]
    ) -> None:
        """Add the attributes of all images of a data set, as make_attributes returns them.

        Parameters
        ----------
        name
            A word, which names of suites hold.
        table
            Of the schema :data:`benchmark_spec.schemas.ATTRIBUTES`.

        Raises
        ------
        SpecError, SchemaError
            If there is no such word or data set, or the table is not as it should be.
        """
        check_attribute_set_name(name, dataset)
        where = f"attributes {name} of {dataset}"
        check_attributes_table(table, self._dataset(dataset).n_images, where)
        self._write("attributes", dataset, name, table, provenance)

    def add_results(self, submission: Submission, provenance: Mapping[str, Any]) -> None:
        """Add a reference method's results, checked against the task sets added so far."""
        validated = validate(submission, self.so_far())
        (method,) = validated.methods
        self._write("results", "", method, submission.table, provenance, submission)

    def so_far(self) -> Release:
        """The release as it stands, to run baselines on it."""
        return Release(self._manifest(), Folder(self.folder.resolve()))

    def finish(self) -> Manifest:
        """Write the dataset card and the manifest, and return the latter."""
        manifest = self._manifest()
        check_manifest(manifest)
        write_whole(self.folder / CARD_FILE, dataset_card(manifest))
        write_whole(self.folder / MANIFEST_FILE, manifest.to_json())
        self._journal.remove()
        return manifest

    def _manifest(self) -> Manifest:
        name, version, description = self._about
        return Manifest(
            name,
            version,
            description,
            tuple(self._datasets.values()),
            tuple(self._tables),
            made_with=MADE_WITH,
            specification=self._specification,
        )

    def _dataset(self, name: str) -> Dataset:
        if name not in self._datasets:
            raise UnknownNameError("data set", name, self._datasets, fix="add_dataset it first")
        return self._datasets[name]

    def _write(
        self,
        kind: Kind,
        dataset: str,
        name: str,
        table: pa.Table,
        provenance: Mapping[str, Any],
        submission: Submission | None = None,
    ) -> None:
        if dataset:
            self._dataset(dataset)
        path = self._new(table_path(kind, dataset, name), name or dataset)
        write = partial(write_table, table)
        if submission is not None:
            write = partial(write_results, submission)
        entry = self._written(path, kind, dataset, name, table, provenance, write)
        self._keep([entry])
        if kind not in ("classes", "images"):  # these count together, once both are written
            self._journal.add((), [entry])

    def _new(self, path: str, name: str) -> str:
        """The path, if nothing was written there so far."""
        if any(t.path == path for t in self._tables):
            raise SpecError(f"{path} would be written twice ({name})")
        return path

    def _written(
        self,
        relative: str,
        kind: Kind,
        dataset: str,
        name: str,
        table: pa.Table,
        provenance: Mapping[str, Any],
        write: Callable[[Path], None],
    ) -> Table:
        """The manifest's entry of a table, which `write` puts there."""
        path = self.folder / relative
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make {path.parent}: {error.strerror}") from None
        write(path)
        digest = content_digest(table)
        return Table(
            path=relative,
            kind=kind,
            dataset=dataset,
            name=name,
            rows=table.num_rows,
            bytes=path.stat().st_size,
            sha256=sha256_of(path),
            digest=digest,
            fingerprint=fingerprint(dataset, name, digest) if kind == "tasks" else "",
            provenance=dict(provenance),
        )

    def _keep(self, entries: Sequence[Table]) -> None:
        """Take tables into the manifest."""
        tables = (*self._tables, *entries)
        check_manifest(Manifest(*self._about, tuple(self._datasets.values()), tables))
        self._tables += entries
