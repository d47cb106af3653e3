"""A model of your own on images: any network of timm, from a checkpoint or the Hub.

First write the images of a data set as files, then run:

    fslbench-build fetch groceries -o RAW/groceries
    fslbench-build source groceries RAW/groceries --pictures PICTURES
    python examples/own_model.py PICTURES --dataset groceries --model resnet18 -o own_model.parquet
    fslbench score own_model.parquet

It goes on where it was when it is stopped.  Needs PyTorch and timm:
pip install '.[builders]'.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from numpy.typing import NDArray

import fslbench_data as fb
from fslbench_data.pictures import decode


class NearestMean:
    """Cosine to the mean of a class's features; put what you have invented in its place."""

    def __init__(self, model: str, checkpoint: str | None) -> None:
        self._network = timm.create_model(
            model, pretrained=checkpoint is None, checkpoint_path=checkpoint or ""
        ).eval()
        self._network.reset_classifier(0)  # features, not logits
        wanted = timm.data.resolve_model_data_config(self._network)
        self._show = timm.data.create_transform(**wanted)
        self._known: dict[str, torch.Tensor] = {}

    def __call__(
        self, support: Sequence[Sequence[Path]], query: Sequence[Path], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return positions (K·Q,) of queries, from K lists of S paths and one of K·Q."""
        means = torch.stack([self._features(paths).mean(dim=0) for paths in support])
        means = torch.nn.functional.normalize(means, dim=1)
        return np.asarray((self._features(query) @ means.T).argmax(dim=1))

    def _features(self, paths: Sequence[Path]) -> torch.Tensor:
        return torch.stack([self._feature(path) for path in paths])

    @torch.inference_mode()
    def _feature(self, path: Path) -> torch.Tensor:
        key = hashlib.sha256(path.read_bytes()).hexdigest()  # images recur under other names
        if key not in self._known:
            picture = self._show(decode(path))
            feature = torch.nn.functional.normalize(self._network(picture[None]), dim=1)[0]
            self._known[key] = feature
        return self._known[key]


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer the tasks of a data set and write the submission."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("pictures", type=Path, help="folder of the data set's images")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--task-set", action="append", default=[], help="all of them if absent")
    parser.add_argument("--model", default="resnet18", help="as timm names it")
    parser.add_argument("--checkpoint", help="its weights; from the Hub if absent")
    parser.add_argument("--release", help="a folder or ORG/NAME; the one in the package if absent")
    parser.add_argument("-o", "--output", default="own_model.parquet")
    given: Any = parser.parse_args(arguments)
    journal = Path(f"{given.output}.partial")
    submission = fb.evaluate(
        NearestMean(given.model, given.checkpoint),
        fb.load_release(given.release),
        name=f"{given.model}/nearest-mean",
        datasets=given.dataset,
        task_sets=given.task_set,
        images=given.pictures,
        journal=journal,
        show_progress=True,
    )
    submission.write(given.output)
    journal.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
