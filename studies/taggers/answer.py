"""Answer the tasks: ``python -m studies.taggers.answer FEATURES...``.

FEATURES are folders that `fslbench-build features glyphs_sample` has made.  Three heads on each
answer all task sets of the release beside this file; what is kept is how many queries of each class
are right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from msgspec.structs import replace

from builders.baselines import run_head
from builders.features.precomputed import read_precomputed
from fslbench_data.release.release import load_release
from fslbench_data.submission.merging import merge
from studies.taggers import ANSWERS, DATASET, RELEASE

HEADS = ("NCC", "MatchingNet", "LR")


def main() -> None:
    """Write the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=ANSWERS)
    options = parser.parse_args()
    release = load_release(RELEASE)
    answered = []
    for folder in options.features:
        extracted = read_precomputed(folder)
        for head in HEADS:
            of = extracted.features
            made = run_head(release, head, extracted.backbone, [DATASET], features=of, threads=1)
            answered.append(replace(made, table=made.table.drop_columns("predictions")))
            print(extracted.backbone, head, flush=True)
    merge(answered).write(options.output)


if __name__ == "__main__":
    main()
