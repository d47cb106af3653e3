"""The same with emoji in colour: ``python -m studies.truth.colour RAW WORK``.

The attribute is the vendor that drew an emoji.  RAW, WORK and what is left as it is are as in
:mod:`studies.truth.trained`; written is ``colour.json``.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from benchmark_spec.protocol import Protocol
from builders.sampling.counterfactual import versions
from builders.training.images import TrainingImages
from builders.training.settings import RunSettings
from fslbench_data.release.release import load_release
from fslbench_data.sampling.draw import DrawnTasks
from fslbench_data.tasks import groups_of
from studies.common import Array
from studies.truth import trained
from studies.truth.measures import counterfactual_tasks, ladder_tasks

RESULTS = Path(__file__).with_name("colour.json")
SIDE, PROTOCOL = 42, Protocol.parse("4w1s5q")  # as many ways as vendors
PARTS = {"train": 16, "validate": 5, "test": 10}


class Emoji:
    """All drawings (N, 3, side, side): their class, vendor, emoji and part."""

    def __init__(self, pixels: Array) -> None:
        release = load_release()
        images, style = release.images("emoji"), release.attributes("emoji", "style")
        self.pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        self.label = images.column("class_id").to_numpy()
        self.names = style.column("text").to_numpy()
        words = [words[0] for words in style.column("attributes").to_pylist()]
        self.vendors, self.vendor = np.unique(words, return_inverse=True)
        self.table, self.groups = style, groups_of(images)
        order, start = np.random.default_rng(0).permutation(int(self.label.max()) + 1), 0
        self.rows = {}
        for part, count in PARTS.items():
            chosen = np.isin(self.label, order[start : start + count])
            self.rows[part] = np.flatnonzero(chosen)
            start += count

    def images_of(self, part: str, dose: float, seed: tuple[int, ...]) -> TrainingImages:
        """Show each emoji once: by its class's vendor with probability `dose`, otherwise by any."""
        rng, rows = np.random.default_rng(seed), self.rows[part]
        own = rng.permutation(int(self.label.max()) + 1) % self.vendors.size
        shown = []
        for name in dict.fromkeys(zip(self.label[rows], self.names[rows], strict=True)):
            of = rows[(self.label[rows] == name[0]) & (self.names[rows] == name[1])]
            chance, any_one = rng.random(), int(rng.integers(of.size))
            theirs = of[self.vendor[of] == own[name[0]]]
            shown.append(int(theirs[0]) if chance < dose and theirs.size else int(of[any_one]))
        pixels, label = self.pixels[shown], self.label[shown]
        sizes = np.bincount(label)
        return TrainingImages(pixels, sizes[sizes > 0], sha256(pixels.tobytes()).hexdigest())


class Tasks(trained.Tasks):
    """Biased and counterfactual tasks of the emoji to test with."""

    def __init__(self, emoji: Emoji) -> None:
        rows = emoji.rows["test"]
        self.pixels, self.value = emoji.pixels[rows], emoji.vendor[rows]
        sizes = np.bincount(emoji.label[rows])
        sizes = sizes[sizes > 0]
        self.first = np.cumsum(sizes) - sizes
        words = [[str(emoji.vendors[v])] for v in self.value]
        self.ladder = ladder_tasks(words, sizes, PROTOCOL, 0, "vendors")
        objects = versions(emoji.table.take(rows), sizes.tolist(), emoji.groups[rows], "emoji")
        self.versions = counterfactual_tasks(objects, PROTOCOL, 0, "vendors")

    def shown(self, step: str, tasks: DrawnTasks, number: int) -> tuple[Array, Array]:
        """Give the images of a task (K, S+Q, 3, side, side), and their vendors (K, S+Q)."""
        positions = np.concatenate([tasks.support[number], tasks.query[number]], axis=1)
        rows = self.first[tasks.class_ids[number]][:, None] + positions
        return self.pixels[rows], self.value[rows]


def settings_of(method: str, seed: int) -> RunSettings:
    """Return the settings of a training: those of grey characters, for colours and four ways."""
    of = trained.settings_of(method, seed)
    return replace(
        of,
        data=replace(of.data, source="emoji", side=SIDE, channels=3),
        training=replace(of.training, episode=str(PROTOCOL)),
        validation=replace(of.validation, episode=str(PROTOCOL)),
    )


def main() -> None:
    """Train, answer and write the measures."""
    raw, work = trained.arguments(__doc__)
    emoji = Emoji(trained.pixels_of("emoji", raw, work, "RGB", SIDE))
    folders = f"{work}/emoji-"
    trained.train_all(emoji.images_of, settings_of, Tasks(emoji), folders, RESULTS)


if __name__ == "__main__":
    main()
