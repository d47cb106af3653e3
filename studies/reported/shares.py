"""How much of their bounds intervals reach: ``python -m studies.reported.shares``.

Tasks that reuse images are drawn from each data set of the release that has features, and answered
by the nearest class mean.  Of the variance that Hoeffding's bound grants an interval for new images
or new classes beyond that of other tasks, leaving images or classes out finds a share:

    ((h / h_tasks)² - 1) / (B ρ / (1 - ρ))

with the half-width h of the jackknife and h_tasks of the usual interval (see
:class:`fslbench_data.scoring.reported.Design`).  A row gives the median over data sets of the
medians over backbones, and the least and greatest of these.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmark_spec.protocol import Protocol
from fslbench_data.release.release import Release, load_release
from fslbench_data.sampling.draw import draw_closed
from studies.common import LEVEL, Array, Z, head, row

TASKS = 2000
PROTOCOLS = [Protocol(5, shot, query) for shot in (1, 5) for query in (1, 5, 15)]
KINDS: tuple[LeftOut, ...] = ("images", "classes")


def features_of(release: Release) -> Iterator[tuple[str, list[Array]]]:
    """Yield the data sets with features, and those of each backbone, of length 1."""
    for dataset in release.datasets:
        found = []
        for name in release.backbones:
            if dataset in release.datasets_with("features", name):
                vectors = np.asarray(release.features(dataset, name), dtype=np.float32)
                found.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        if found:
            yield dataset, found


def nearest_means(unit: Array, images: Array, protocol: Protocol) -> Array:
    """Return the accuracies (B,) of the nearest class mean on tasks of images (B, K, S+Q)."""
    label = np.repeat(np.arange(protocol.way), protocol.query)
    right = []
    for task in images:
        means = unit[task[:, : protocol.shot]].mean(axis=1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        asked = unit[task[:, protocol.shot :]].reshape(-1, unit.shape[1])
        right.append(((asked @ means.T).argmax(axis=1) == label).mean())
    return np.array(right)


def shares(release: Release, dataset: str, units: list[Array], protocol: Protocol) -> Array:
    """Return the shares (backbones, 2) that intervals for new images and classes reach."""
    owner = release.images(dataset).column("class_id").to_numpy().astype(np.int64)
    sizes = np.bincount(owner)
    kept = np.flatnonzero(sizes >= 4 * protocol.per_class)
    if kept.size < 2 * protocol.way:
        return np.full((len(units), 2), np.nan)
    drawn = draw_closed(sizes[kept].tolist(), protocol, dataset=dataset, seed=0, tasks=TASKS)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])[kept]
    images = np.concatenate([drawn.support, drawn.query], axis=2)
    images = images + start[drawn.class_ids][..., None]
    own = np.full(owner.size, -1)
    for new, old in enumerate(kept):
        own[owner == old] = new
    design = TaskDesign.of(drawn.class_ids, images, own)
    values = np.stack([nearest_means(unit, images, protocol) for unit in units])
    usual = Z * values.std(axis=1, ddof=1) / np.sqrt(TASKS)
    found = Influences(design, values).own(LEVEL)
    return np.stack(
        [
            ((getattr(found, kind).halfwidth[:, 0] / usual) ** 2 - 1) / (design.bound(kind) - 1)
            for kind in KINDS
        ],
        axis=1,
    )


def main() -> None:
    """Print a row for each protocol."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=None)
    release = load_release(parser.parse_args().release)
    data = [*features_of(release)]
    print(f"{TASKS:,} tasks of each of {len(data)} data sets: {', '.join(n for n, _ in data)}\n")
    print(
        head(
            "shots",
            "queries",
            "data sets",
            *(f"{k}{of}" for k in KINDS for of in ("", ", least", ", greatest")),
        )
    )
    for protocol in PROTOCOLS:
        each = np.array([np.median(shares(release, *of, protocol), axis=0) for of in data])
        each = each[~np.isnan(each).any(axis=1)]
        cells = [f"{f(column):.2f}" for column in each.T for f in (np.median, np.min, np.max)]
        print(row(protocol.shot, protocol.query, len(each), *cells), flush=True)


if __name__ == "__main__":
    main()
