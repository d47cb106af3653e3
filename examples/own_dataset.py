"""A data set of your own as a private release: frozen tasks that a whole group can score on.

    python examples/own_dataset.py BIRDS -o birds_release            # one folder per class in BIRDS
    python examples/own_dataset.py BIRDS -o birds_release --repo-id ORG/birds     # and on the Hub

Then, for everybody with access to the repository:

    fslbench evaluate method.py:method --release ORG/birds@v1.0.0 --images BIRDS -o mine.parquet
    fslbench score mine.parquet --release ORG/birds@v1.0.0

Images stay where they are: the release holds their paths and SHA-256, and the tasks.
Needs pip install '.[builders]', and for the Hub a login: hf auth login.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders.hub.publish import publish
from builders.release.build import build_release
from builders.release.spec import DatasetSpec, ReleaseSpec
from builders.release.verify import verify

ABOUT = {
    "title": "Birds of our garden",
    "homepage": "https://example.org/birds",
    "licence": "all rights reserved",
    "citation": "@misc{birds, title = {Birds of our garden}}",
}


def specification(raw: Path, protocols: Sequence[str]) -> ReleaseSpec:
    """Return what SPEC.toml would say: open sets, and closed ones to compare with."""
    birds = DatasetSpec(
        name="birds",
        source="image_folder",
        folder=raw.name,
        suites=("open", "closed"),
        protocols=tuple(protocols),
        tasks={"closed": 600},
        options=ABOUT,
    )
    return ReleaseSpec("birds", "1.0.0", "Birds, to compare methods within the group.", (birds,))


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the release, verify it and, if a repository is named, publish it privately."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("raw", type=Path, help="folder with one folder of images a class")
    parser.add_argument("--protocols", nargs="+", default=["5w1s1q", "5w5s5q"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--repo-id", help="ORG/NAME on the Hub")
    given: Any = parser.parse_args(arguments)
    raw = given.raw.resolve()
    manifest = build_release(specification(raw, given.protocols), given.output, raw=raw.parent)
    problems = verify(given.output).problems
    print(f"{manifest.name}@{manifest.version} {manifest.digest[:12]}, {len(problems)} problems")
    for table in manifest.tables:
        if table.kind == "tasks":
            print(f"{table.dataset}/{table.name}: {table.rows} tasks")
    if given.repo_id:
        published = publish(given.output, given.repo_id, private=True)
        print(f"published as {published.repo_id}@{published.tag}")


if __name__ == "__main__":
    main()
