"""What of an earlier release is taken over, because it would be made just the same now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.schemas import check_features
from benchmark_spec.tables import Kind, Table
from builders.features import Settings, is_network
from builders.features.compress import STORED, base_of
from builders.features.extraction import described
from builders.release.writer import ReleaseWriter
from builders.sources.packaged import canaries
from fslbench_data.release.release import Release
from fslbench_data.release.tables import read_table
from fslbench_data.submission.bindings import Binding
from fslbench_data.submission.model import Submission
from fslbench_data.tasks.redraw import EVIDENCE

Bindings = Mapping[tuple[str, str, str], Binding]
"""By method, data set and task set: which tasks are answered."""

_OF_PROJECTION = (*STORED, "scale", "pca")
"""What the provenance of a projection says otherwise than its backbone's, or besides."""


class EarlierRelease:
    """An earlier release, or none, beside the one that is being written.

    Of the same images by the same network with the same settings, on the same kind of processor
    and with the same versions of packages: all that a provenance says has to be equal.
    """

    def __init__(self, release: Release | None, writer: ReleaseWriter, settings: Settings) -> None:
        self._release, self._writer, self._settings = release, writer, settings
        self._networks: dict[str, dict[str, Any]] = {}

    def __str__(self) -> str:
        return str(self._release)

    def __bool__(self) -> bool:
        return self._release is not None

    def as_now(self, dataset: str, backbone: str) -> dict[str, Any]:
        """Tell how features are made: those that are written, or those that would be extracted.

        Empty of pixels that are not written.
        """
        written = tables_of(self._writer.so_far(), "features", dataset, backbone)
        if written:
            return dict(written[0].provenance)
        if not is_network(backbone):
            return {}
        if backbone not in self._networks:
            self._networks[backbone] = described(canaries.read(), backbone, self._settings, None)
        images = self._writer.digest("images", dataset)
        return _as_json({**self._networks[backbone], "dataset": dataset, "images": images})

    def features(self, dataset: str, name: str) -> tuple[list[NDArray[Any]], dict[str, Any]] | None:
        """Return a network's features of a data set, a shard a piece, and how they were made.

        None where there are none, or they would be made otherwise now.
        """
        base, dimensions = base_of(name)
        if self._release is None or not is_network(base):
            return None
        shards = tables_of(self._release, "features", dataset, name)
        reference = tables_of(self._release, "features", canaries.NAME, base)
        if not shards or not reference:
            return None
        made, now = dict(shards[0].provenance), self.as_now(dataset, base)
        others = () if dimensions is None else _OF_PROJECTION  # which hides the dtype
        alike = [{k: v for k, v in one.items() if k not in others} for one in (made, now)]
        if reference[0].provenance.get("dtype") != now["dtype"] or alike[0] != alike[1]:
            return None
        path_of = self._release.files.path
        tables = (read_table(path_of(t), t, partial(check_features, where=t.path)) for t in shards)
        return [_stored(table) for table in tables], made if dimensions is None else made | STORED

    def results(
        self, method: str, provenance: Mapping[str, Any], bindings: Bindings, features: str = ""
    ) -> Submission | None:
        """Return the results of a method on the tasks of `bindings`, all those of their data sets.

        Parameters
        ----------
        provenance
            What the release will say of how they were made.
        features
            The feature set that the method works on, of which the release may hold tables.

        None where there are none, or they would be others now.
        """
        entries = tables_of(self._release, "results", "", method) if self._release else []
        if self._release is None or not entries:
            return None
        results = self._release.reference(method)
        datasets = list(dict.fromkeys(dataset for _, dataset, _ in bindings))
        then = {key: binding for key, binding in results.bindings.items() if key[1] in datasets}
        if then != dict(bindings) or dict(entries[0].provenance) != _as_json(provenance):
            return None
        for dataset in datasets:
            if not self._same("images", dataset) or not self._same("features", dataset, features):
                return None
        here = pc.is_in(results.table.column("dataset").cast(pa.string()), pa.array(datasets))
        return replace(results, table=results.table.filter(here), bindings=then)

    def evidence(
        self,
        dataset: str,
        method: str,
        pair: tuple[int, int],
        suite: str,
        seeds: int,
        now: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Return why a number of queries was chosen on a data set's own images.

        Parameters
        ----------
        method
            Whose accuracies decided: a network and its head.
        now
            How the network's features of the data set would be made; those of the method's
            results say how they were.

        None where nothing was chosen, or it would be chosen on something else now.
        """
        if self._release is None:
            return None
        results = tables_of(self._release, "results", "", method)
        extraction = results[0].provenance.get("extraction", {}) if results else {}
        if not extraction or any(now.get(key) != value for key, value in extraction.items()):
            return None
        if not self._same("images", dataset):
            return None
        asked = {
            "method": method, "suite": suite, "seeds": seeds,
            "dataset": dataset, "release": "", "images": "these",
        }  # fmt: skip
        for info in self._release.task_sets:
            why = self._release.provenance(info).get(EVIDENCE, {})
            protocol = info.name.protocol
            if (info.dataset, protocol.way, protocol.shot) == (dataset, *pair) and asked == {
                key: why.get(key) for key in asked
            }:
                return dict(why)
        return None

    def _same(self, kind: Kind, dataset: str, name: str = "") -> bool:
        """Tell whether both releases have a table of the same values, or none."""
        both = [r for r in (self._release, self._writer.so_far()) if r is not None]
        then, now = (
            [(t.digest, t.provenance.get("scale")) for t in tables_of(release, kind, dataset, name)]
            for release in both
        )
        return then == now


def tables_of(release: Release, kind: Kind, dataset: str, name: str = "") -> list[Table]:
    """List the table of a kind, or its shards; empty where a release does not hold it."""
    key = (kind, dataset, name)
    return [t for t in release.manifest.tables if (t.kind, t.dataset, t.name) == key]


def _stored(table: pa.Table) -> NDArray[Any]:
    """Return features (n, D) as a table has them: of older releases int8 without their scale."""
    column = table.column("feature").combine_chunks()
    values: NDArray[Any] = column.flatten().to_numpy().reshape(len(table), column.type.list_size)
    return values


def _as_json(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance as a manifest gives it back."""
    content: dict[str, Any] = json.loads(json.dumps(dict(provenance)))
    return content
