"""A batch sampler of random few-shot tasks for loaders of PyTorch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError, SpecError


class TaskSampler(Sampler[list[int]]):
    """Draws tasks with images and classes reused, each uniformly, none twice in a task.

    A batch is the S support and then the Q query images of a class, class by class.  Parameters are
    those of easyfsl's sampler of this name; tasks are the same on every platform.

    Parameters
    ----------
    dataset
        The class of each image: a list, or a data set with `get_labels()`, `targets` or `labels`.
    n_way, n_shot, n_query, n_tasks
        Classes of a task, S, Q, and how many tasks an iteration has.
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
        n_way: int,
        n_shot: int,
        n_query: int,
        n_tasks: int,
        *,
        seed: int = 0,
    ) -> None:
        self.n_way, self.n_shot, self.n_query, self.n_tasks = n_way, n_shot, n_query, n_tasks
        self.items_per_label: dict[Any, list[int]] = {}
        for image, label in enumerate(labels_of(dataset)):
            self.items_per_label.setdefault(label, []).append(image)
        self.drawn: list[dict[str, Any]] = []
        self._stream = Stream("task-sampler", seed)
        self._sizes = np.array([len(images) for images in self.items_per_label.values()], np.int64)
        for name, least in (("n_way", 2), ("n_shot", 1), ("n_query", 1), ("n_tasks", 1)):
            if getattr(self, name) < least:
                found = getattr(self, name)
                raise SamplingError(f"{name} is {found}", expected=f"{name} of at least {least}")
        if n_way > self._sizes.size:
            raise SamplingError(f"tasks of {n_way} classes from {self._sizes.size}")
        if (each := n_shot + n_query) > self._sizes.min():
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
            (chosen,) = self._stream.subsets(np.array([len(labels)]), self.n_way)
            positions = self._stream.subsets(self._sizes[chosen], self.n_shot + self.n_query)
            ids = [
                [images[label][i] for i in of_class]
                for label, of_class in zip(chosen.tolist(), positions.tolist(), strict=True)
            ]
            self.drawn.append(
                {
                    "class_ids": [labels[label] for label in chosen.tolist()],
                    "support_ids": [of_class[: self.n_shot] for of_class in ids],
                    "query_ids": [of_class[self.n_shot :] for of_class in ids],
                }
            )
            yield [image for of_class in ids for image in of_class]

    def episodic_collate_fn(
        self, batch: Sequence[tuple[torch.Tensor, Any]]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, list[Any]]:
        """Give support (K·S, …), positions of its classes (K·S,), the same of queries, and classes.

        Positions are among the classes, which are in the order of the images.
        """
        stacked = torch.stack([image for image, _ in batch])
        images = stacked.reshape(self.n_way, -1, *stacked.shape[1:])
        of = torch.arange(self.n_way)
        classes = [label for _, label in batch][:: self.n_shot + self.n_query]
        return (
            images[:, : self.n_shot].flatten(0, 1),
            of.repeat_interleave(self.n_shot),
            images[:, self.n_shot :].flatten(0, 1),
            of.repeat_interleave(self.n_query),
            [label.item() if hasattr(label, "item") else label for label in classes],
        )


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
