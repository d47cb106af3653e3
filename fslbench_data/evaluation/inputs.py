"""What a method is given: the features of a task's images, or copies of them as files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError, listing
from fslbench_data.evaluation.numbered_images import MARK, has_other_mark, is_numbered, picture_name
from fslbench_data.release.release import Release
from fslbench_data.tasks import Task

_PART = re.compile(r"#(xywh=\d+,\d+,\d+,\d+|\d+)$")
"""What ends a path that names a part of a file."""


class Inputs(Protocol):
    """Turns tasks into arguments of a method while it answers: a row of them for each task."""

    def batch(self, tasks: Sequence[Task]) -> AbstractContextManager[tuple[Any, Any]]:
        """Support (B, K, S, ...) and query (B, K·Q, ...) of B tasks."""


@dataclass(frozen=True, eq=False)
class FeatureInputs:
    """Features as float32 arrays: support (B, K, S, D), query (B, K·Q, D)."""

    features: NDArray[Any]

    @contextmanager
    def batch(self, tasks: Sequence[Task]) -> Iterator[tuple[Any, Any]]:
        """Look the features of B tasks up."""
        support = np.stack([task.support for task in tasks])
        query = np.stack([task.query for task in tasks])
        yield self._of(support), self._of(query)

    def _of(self, ids: NDArray[Any]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self.features[ids].astype(np.float32)
        return values


@dataclass(frozen=True, eq=False)
class ImageInputs:
    """Paths of images: of each task K lists of S of the support, and a list of K·Q of the query.

    The files lie in classes, so that their names, folders, times and inodes tell the class.  So a
    method is given copies, in a folder of the call's own, which is removed after it: names follow
    from the seed, the task and the place in it, times are all the same, and queries are written in
    their frozen order.  Links would keep times and inodes, and let a method write into the images.
    """

    paths: list[Path]
    seed: int

    @contextmanager
    def batch(self, tasks: Sequence[Task]) -> Iterator[tuple[Any, Any]]:
        """Lists of the supports and queries of B tasks."""
        with TemporaryDirectory(prefix="fslbench-", ignore_cleanup_errors=True) as folder:
            both = [self._copied(task, Path(folder)) for task in tasks]
            yield [support for support, _ in both], [query for _, query in both]

    def _copied(self, task: Task, folder: Path) -> tuple[list[list[Path]], list[Path]]:
        ids = [*task.support.ravel().tolist(), *task.query.tolist()]
        copies = []
        for place, image_id in enumerate(ids):
            path = self.paths[image_id]
            copy = folder / (_name(self.seed, task, place) + path.suffix.lower())
            try:
                shutil.copyfile(path, copy)
                os.utime(copy, (0, 0))
            except OSError as error:
                raise SourceError(f"{path} cannot be copied: {error.strerror}") from None
            copies.append(copy)
        way, shot = task.support.shape
        support = [copies[k * shot : (k + 1) * shot] for k in range(way)]
        return support, copies[way * shot :]


def _name(seed: int, task: Task, place: int) -> str:
    """The name of a copy, which no image has a part in."""
    info = task.info
    text = json.dumps(["fslbench-image-1", seed, info.dataset, str(info.name), task.task_id, place])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def image_inputs(release: Release, dataset: str, folder: Path, seed: int) -> ImageInputs:
    """Make inputs from images on disk, copied under names that the seed decides.

    Where `folder` holds numbered pictures (:mod:`fslbench_data.evaluation.numbered_images`),
    these; else the files of the source's own layout.  Raises a SourceError if an image has no
    picture file of its own, or is not there, or the numbered pictures are of other images.
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
    return ImageInputs(paths, seed)


def _is_picture_file(name: str | None) -> bool:
    """Whether a path of an images table is a whole file, and one of pixels."""
    return name is not None and not _PART.search(name) and not name.endswith(".svg")
