"""Episodes and batches of labelled images: what step t trains on follows from seed and t alone."""

from __future__ import annotations

import numpy as np
import torch

from benchmark_spec.protocol import Protocol
from builders.training.images import Positions, TrainingImages
from builders.training.method import Episode, Labelled


def generator(*key: int) -> np.random.Generator:
    """Return the generator of a step, a validation task or whatever else the numbers name."""
    return np.random.default_rng(key)


def draw_episode(
    images: TrainingImages, eligible: Positions, protocol: Protocol, rng: np.random.Generator
) -> Episode:
    """Draw K classes uniformly, and S + Q images of each, no image twice."""
    classes = rng.choice(eligible, protocol.way, replace=False)
    count = protocol.shot + protocol.query
    chosen = np.stack(
        [
            images.starts[c] + rng.choice(images.class_sizes[c], count, replace=False)
            for c in classes
        ]
    )
    loaded = torch.from_numpy(images.load(chosen))
    return Episode(
        loaded[:, : protocol.shot], loaded[:, protocol.shot :], torch.from_numpy(classes)
    )


def draw_labelled(images: TrainingImages, batch: int, rng: np.random.Generator) -> Labelled:
    """Draw images uniformly from all, with replacement."""
    chosen = rng.integers(len(images.pixels), size=batch)
    classes = np.searchsorted(images.starts, chosen, side="right") - 1
    return Labelled(torch.from_numpy(images.load(chosen)), torch.from_numpy(classes))
