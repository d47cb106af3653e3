"""A batch sampler of random few-shot tasks for loaders of PyTorch."""

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
"""A number, or the least and the most of those of which each is as likely."""


class TaskSampler(Sampler[list[int]]):
    """Draws tasks with images and classes reused, each uniformly, none twice in a task.

    A batch is the S support and then the Q query images of a class, class by class.  Parameters are
    those of easyfsl's sampler of this name; tasks are the same on every platform.

    Parameters
    ----------
    dataset
        The class of each image: a list, or a data set with `get_labels()`, `targets` or `labels`.
    n_way, n_shot, n_query, n_tasks
        Classes of a task, S, Q, and how many tasks an iteration has.  Ways and shots may be ranges,
        such as ``n_way=(5, 20), n_shot=(1, 10)``: then each task draws its number of classes, and
        each of its classes its number of support images.
    seed
        Tasks follow from it.  Each iteration goes on with new ones.

    Attributes
    ----------
    drawn
        Of each task drawn so far `class_ids`, `support_ids` and `query_ids`, as a log of own tasks
        has them.

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
        if (each := _ends(self.n_shot)[1] + self.n_query) > self._sizes.min():
            label, images = min(self.items_per_label.items(), key=lambda item: len(item[1]))
            raise SamplingError(
                f"a task takes {each} images of a class, and class {label!r} has {len(images)}",
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
            each = zip(chosen.tolist(), positions.tolist(), shots, strict=True)
            ids = [[images[c][i] for i in own[: shot + self.n_query]] for c, own, shot in each]
            self.drawn.append(
                {
                    "class_ids": [labels[label] for label in chosen.tolist()],
                    "support_ids": [of_class[: -self.n_query] for of_class in ids],
                    "query_ids": [of_class[-self.n_query :] for of_class in ids],
                }
            )
            yield [image for of_class in ids for image in of_class]

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
        """Give support (K·S, …), positions of its classes (K·S,), the same of queries, and classes.

        Positions are among the classes, which are in the order of the images.
        """
        images = torch.stack([image for image, _ in batch])
        labels = [label.item() if hasattr(label, "item") else label for _, label in batch]
        sizes = [(label, len([*same])) for label, same in groupby(labels)]
        of = torch.arange(len(sizes)).repeat_interleave(torch.tensor([size for _, size in sizes]))
        queries = [i >= size - self.n_query for _, size in sizes for i in range(size)]
        query = torch.tensor(queries)
        return images[~query], of[~query], images[query], of[query], [label for label, _ in sizes]


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
    """Return the class of each image of a data set, or of a list of them, as integers or texts."""
    found = dataset.get_labels() if hasattr(dataset, "get_labels") else dataset
    for name in ("targets", "labels"):
        found = getattr(found, name, found)
    if not isinstance(found, Dataset):
        found = found.tolist() if hasattr(found, "tolist") else list(found)
        labels = [label.item() if hasattr(label, "item") else label for label in found]
        if all(isinstance(label, int | str) for label in labels):
            return labels
    raise SpecError(
        f"the classes of the images of a {type(dataset).__name__} are not known",
        expected="a list of labels, one an image, integers or texts; or a data set with "
        "get_labels(), targets or labels",
    )
