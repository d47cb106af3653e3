"""Draw random few-shot tasks as batches for loaders of PyTorch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby
from operator import index
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError, SpecError

Numbers = int | tuple[int, int]
"""A number, or the smallest and the largest of a uniform range."""


class TaskSampler(Sampler[list[int]]):
    """Draws tasks uniformly; tasks share classes and images, but a task has none twice.

    A batch has the S support and then the Q query images of each class, class by class.  Parameters
    are those of easyfsl's sampler of this name; tasks are the same on every platform.

    Parameters
    ----------
    dataset
        The class of each image: a list, or a data set with `get_labels()`, `targets` or `labels`.
    n_way, n_shot, n_query, n_tasks
        Classes of a task, S, Q, and tasks of an iteration.  Ways and shots may be ranges, such as
        ``n_way=(5, 20), n_shot=(1, 10)``: then each task draws its number of classes, and each of
        its classes its number of support images.
    seed
        The seed of all tasks; each iteration draws new ones.

    Attributes
    ----------
    drawn
        `class_ids`, `support_ids` and `query_ids` of each task so far, as in a log.

    Raises a SamplingError if there are fewer classes, or images in one, than a task takes.
    """

    def __init__(
        self,
        dataset: Any,
        n_way: Numbers,
        n_shot: Numbers,
        n_query: int,
        n_tasks: int,
        *,
        seed: int = 0,
    ) -> None:
        self.n_way, self.n_shot = _numbers("n_way", n_way, 2), _numbers("n_shot", n_shot, 1)
        self.n_query, self.n_tasks = _number("n_query", n_query), _number("n_tasks", n_tasks)
        self.items_per_label: dict[Any, list[int]] = {}
        for image, label in enumerate(labels_of(dataset)):
            self.items_per_label.setdefault(label, []).append(image)
        self.drawn: list[dict[str, Any]] = []
        self._stream = Stream("task-sampler", _number("seed", seed, 0))
        self._sizes = np.array([len(images) for images in self.items_per_label.values()], np.int64)
        if (most := _ends(self.n_way)[1]) > self._sizes.size:
            raise SamplingError(f"tasks of {most} classes from {self._sizes.size}")
        if (needed := _ends(self.n_shot)[1] + self.n_query) > self._sizes.min():
            label, images = min(self.items_per_label.items(), key=lambda item: len(item[1]))
            raise SamplingError(
                f"a task takes {needed} images of a class, and class {label!r} has {len(images)}",
                fix="take fewer shots or queries, or leave small classes out of the data set",
            )

    def __len__(self) -> int:
        return self.n_tasks

    def __iter__(self) -> Iterator[list[int]]:
        labels, images = zip(*self.items_per_label.items(), strict=True)
        for _ in range(self.n_tasks):
            (ways,) = self._draw(self.n_way, 1)
            (chosen,) = self._stream.subsets(np.array([len(labels)]), ways)
            shots = self._draw(self.n_shot, ways)
            positions = self._stream.subsets(self._sizes[chosen], max(shots) + self.n_query)
            by_class = []
            for c, of_class, shot in zip(chosen.tolist(), positions.tolist(), shots, strict=True):
                by_class.append([images[c][i] for i in of_class[: shot + self.n_query]])
            self.drawn.append(
                {
                    "class_ids": [labels[c] for c in chosen.tolist()],
                    "support_ids": [ids[: -self.n_query] for ids in by_class],
                    "query_ids": [ids[-self.n_query :] for ids in by_class],
                }
            )
            yield [image_id for ids in by_class for image_id in ids]

    def _draw(self, given: Numbers, count: int) -> list[int]:
        """Draw so many numbers of a range."""
        low, high = _ends(given)
        if low == high:
            return [low] * count
        drawn: list[int] = (low + self._stream.integers(np.full(count, high - low + 1))).tolist()
        return drawn

    def episodic_collate_fn(
        self, batch: Sequence[tuple[torch.Tensor, Any]]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, list[Any]]:
        """Return support (K·S, …), its class positions (K·S,), the same of queries, and classes.

        Positions are those in the classes, which are in the order of the images.
        """
        images = torch.stack([image for image, _ in batch])
        labels = [label.item() if hasattr(label, "item") else label for _, label in batch]
        classes, sizes = zip(*((label, len([*run])) for label, run in groupby(labels)), strict=True)
        positions = torch.arange(len(classes)).repeat_interleave(torch.tensor(sizes))
        is_query = torch.tensor([i >= size - self.n_query for size in sizes for i in range(size)])
        support, query = images[~is_query], images[is_query]
        return support, positions[~is_query], query, positions[is_query], list(classes)


def _ends(given: Numbers) -> tuple[int, int]:
    return (given, given) if isinstance(given, int) else given


def _number(name: str, given: Any, least: int = 1) -> int:
    """Return a parameter that is a whole number; SamplingError for any other."""
    try:
        number = index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise SamplingError(
            f"{name} is {given!r}", expected=f"{name}, a whole number of at least {least}"
        )
    return number


def _numbers(name: str, given: Any, least: int) -> Numbers:
    """Return a parameter that is a whole number or a range; SamplingError for any other."""
    if not isinstance(given, tuple):
        return _number(name, given, least)
    ends = tuple(_number(name, end, least) for end in given)
    if len(ends) != 2 or ends[0] > ends[1]:
        raise SamplingError(f"{name} is {given}", expected=f"{name}, a number or (least, most)")
    return ends[0], ends[1]


def labels_of(dataset: Any) -> list[Hashable]:
    """Return the class of each image of a data set, or of a list of classes, as ints or texts."""
    given = dataset.get_labels() if hasattr(dataset, "get_labels") else dataset
    for name in ("targets", "labels"):
        given = getattr(given, name, given)
    if not isinstance(given, Dataset):
        given = given.tolist() if hasattr(given, "tolist") else list(given)
        labels = [label.item() if hasattr(label, "item") else label for label in given]
        if all(isinstance(label, int | str) for label in labels):
            return labels
    raise SpecError(
        f"the classes of the images of a {type(dataset).__name__} are not known",
        expected="a list of labels, one per image, integers or texts; or a data set with "
        "get_labels(), targets or labels",
    )
