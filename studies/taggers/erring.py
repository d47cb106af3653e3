"""Make a release with taggers that err: ``python -m studies.taggers.erring SPEC --raw RAW -o DIR``.

As ``fslbench-build release`` does it, but that attributes named in RATES get a tagger's errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from builders.attributes import Recipe, make_attributes
from builders.attributes.table import attributes_table
from builders.execution.steps import Made
from builders.release import build
from builders.release.spec_file import read_spec

RATES = {
    "a10": (0.1, 0.029, 1),
    "b10": (0.1, 0.029, 2),
    "a20": (0.2, 0.058, 1),
    "b20": (0.2, 0.058, 2),
    "a30": (0.3, 0.087, 1),
    "b30": (0.3, 0.087, 2),
    "a40": (0.4, 0.116, 1),
    "b40": (0.4, 0.116, 2),
    "misses": (0.3, 0.0, 1),
    "invents": (0.0, 0.087, 1),
}
"""How often a tagger misses a word and invents one, and the seed of its errors."""


def found(
    attributes: Sequence[Sequence[str]], paths: Sequence[str], miss: float, invent: float, seed: int
) -> list[list[str]]:
    """Return the attributes that a tagger finds of each of N images: sorted, each once.

    It errs where the first eight bytes of the SHA-256 of seed, path and word, parted by zero bytes,
    over 2^64 lie below the rate: nothing depends on an order.
    """
    words = sorted({word for own in attributes for word in own})

    def finds(path: str, word: str, *, true: bool) -> bool:
        digest = sha256(f"{seed}\0{path}\0{word}".encode()).digest()
        chance = int.from_bytes(digest[:8], "big") / 2**64
        return true is not (chance < (miss if true else invent))

    return [
        [word for word in words if finds(path, word, true=word in own)]
        for path, own in zip(paths, attributes, strict=True)
    ]


class _Build(build.DatasetBuild):
    """The build of a data set of which some taggers err."""

    def _add_attributes(self, name: str, recipe: Recipe, work: Path) -> Made:
        if name not in RATES:
            return super()._add_attributes(name, recipe, work)
        images, (miss, invent, seed) = self.images(), RATES[name]
        true, how = make_attributes(images, recipe, self.spec.source, work)
        of_images, texts = (true.column(key).to_pylist() for key in ("attributes", "text"))
        words = found(of_images, images.images.column("path").to_pylist(), miss, invent, seed)
        how["errors"] = {"miss": miss, "invent": invent, "seed": seed}
        return self._writer.add_attributes(
            self.spec.name, name, attributes_table(words, texts), how
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("-o", dest="folder", type=Path, required=True)
    given = parser.parse_args(arguments)
    with patch.object(build, "DatasetBuild", _Build):
        print(build.build_release(read_spec(given.spec), given.folder, raw=given.raw))


if __name__ == "__main__":
    main()
