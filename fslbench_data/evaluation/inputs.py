"""What a method is given: the features, or the paths, of a task's images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, listing
from fslbench_data.pictures import MARK, has_other_mark, is_numbered, picture_name
from fslbench_data.release import Release
from fslbench_data.tasks import Task

_PART = re.compile(r"#(xywh=\d+,\d+,\d+,\d+|\d+)$")
"""What ends a path that names a part of a file."""


class Inputs(Protocol):
    """Turns tasks into the arguments `support` and `query` of a method."""

    def one(self, task: Task) -> tuple[Any, Any]:
        """Support (K, S, ...) and query (K·Q, ...) of one task."""

    def batch(self, tasks: Sequence[Task]) -> tuple[Any, Any]:
        """Support (B, K, S, ...) and query (B, K·Q, ...) of B tasks."""


@dataclass(frozen=True, eq=False)
class FeatureInputs:
    """Features as float32 arrays: support (K, S, D), query (K·Q, D), with B in front in batches."""

    features: NDArray[Any]

    def one(self, task: Task) -> tuple[Any, Any]:
        """Support (K, S, D) and query (K·Q, D) of one task."""
        return self._of(task.support), self._of(task.query)

    def batch(self, tasks: Sequence[Task]) -> tuple[Any, Any]:
        """Support (B, K, S, D) and query (B, K·Q, D)."""
        support = np.stack([task.support for task in tasks])
        query = np.stack([task.query for task in tasks])
        return self._of(support), self._of(query)

    def _of(self, ids: NDArray[Any]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.features[ids].astype(np.float32)
        return found


@dataclass(frozen=True, eq=False)
class ImageInputs:
    """Paths of images: support K lists of S, query a list of K·Q; lists of these in batches."""

    paths: list[Path]

    def one(self, task: Task) -> tuple[Any, Any]:
        """Support and query of one task, as lists of paths."""
        support = [[self.paths[i] for i in row] for row in task.support.tolist()]
        return support, [self.paths[i] for i in task.query.tolist()]

    def batch(self, tasks: Sequence[Task]) -> tuple[Any, Any]:
        """Lists of the supports and queries of B tasks."""
        both = [self.one(task) for task in tasks]
        return [support for support, _ in both], [query for _, query in both]


def feature_inputs(release: Release, dataset: str, backbone: str) -> FeatureInputs:
    """Inputs from the release's features."""
    return FeatureInputs(release.features(dataset, backbone))


def image_inputs(release: Release, dataset: str, folder: Path) -> ImageInputs:
    """Inputs from images on disk.

    Where `folder` holds numbered pictures (:mod:`fslbench_data.pictures`), these; else the files
    of the source's own layout.

    Raises
    ------
    ReleaseError
        If the release does not know the data set's images.
    SourceError
        If an image has no picture file of its own, or is not there, or the numbered pictures are
        of other images.
    """
    images = release.images(dataset)
    export = f"write its pictures: fslbench-build source {dataset} RAW --pictures DIR"
    if is_numbered(folder):
        if has_other_mark(folder, images):
            raise SourceError(
                f"the pictures are not those of {dataset} in release {release}",
                where=str(folder / MARK),
                fix=f"{export}; a folder holds those of one data set (--dataset)",
            )
        names = [picture_name(i) for i in range(len(images))]
        expected = f"{names[0]} to {names[-1]}"
        export = f"go on with them: fslbench-build source {dataset} RAW --pictures {folder}"
    else:
        names = images.column("path").to_pylist()
        without = [i for i, name in enumerate(names) if not _is_picture_file(name)]
        if without:
            raise SourceError(
                f"{len(without)} images of {dataset} are not files of pictures: image_id "
                f"{listing(without)}",
                expected="images that are whole files, or a folder of numbered pictures",
                fix=f"{export}; or run the method on features",
            )
        expected = "the source's own layout in the folder given as --images, or numbered pictures"
    paths = [folder / name for name in names]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise SourceError(
            f"{len(missing)} of {len(paths)} images of {dataset} are missing",
            where=listing(missing, 3),
            expected=expected,
            fix=export,
        )
    return ImageInputs(paths)


def _is_picture_file(name: str | None) -> bool:
    """Whether a path of an images table is a whole file, and one of pixels."""
    return name is not None and not _PART.search(name) and not name.endswith(".svg")
