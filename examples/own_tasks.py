"""An own loop over random tasks that keeps who was in each: what `fslbench interval` reads.

Two methods on 600 tasks of 5 ways, 10 shots and 7 queries, of 1,393 photos of groceries:

    python examples/own_tasks.py
    fslbench interval log.jsonl --class-sizes sizes.json --groups groups.csv

Some of the photos are shots of one scene: the last file says which, and a scene is left out as one.
"""

import json
from pathlib import Path

import numpy as np

import fslbench_data as fb


def nearest_centroid(support, query):
    """Give each query the class of the nearest mean: (K, S, D), (K·Q, D) -> (K·Q,) in 0..K-1."""
    return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)


def cosine_centroid(support, query):
    """Do the same on features of length 1."""
    return nearest_centroid(
        *(x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (support, query))
    )


ways, shots, queries = 5, 10, 7
release = fb.load_release()
features = release.features("groceries", "efficientnet_lite0-pca128").astype(np.float64)
labels = release.images("groceries")["class_id"].to_numpy()
images_of = {int(label): np.flatnonzero(labels == label) for label in np.unique(labels)}

rng = np.random.default_rng(0)
with Path("log.jsonl").open("w") as file:
    for task in range(600):
        classes = rng.choice([*images_of], ways, replace=False)
        images = np.stack(
            [rng.choice(images_of[c], shots + queries, replace=False) for c in classes]
        )
        support, query = features[images[:, :shots]], features[images[:, shots:]]
        truth = np.arange(ways).repeat(queries)
        for method in (nearest_centroid, cosine_centroid):
            predicted = method(support, query.reshape(ways * queries, -1))
            row = {
                "method": method.__name__,
                "task": task,
                "class_ids": classes.tolist(),  # these three lines are what matters
                "support_ids": images[:, :shots].tolist(),
                "query_ids": images[:, shots:].tolist(),
                "n_correct": int((predicted == truth).sum()),
                "n_query": ways * queries,
            }
            file.write(json.dumps(row) + "\n")
Path("sizes.json").write_text(
    json.dumps({label: len(images) for label, images in images_of.items()})
)
bursts = release.images("groceries")["group"].to_pylist()
rows = ["image,group", *(f"{image},{burst}" for image, burst in enumerate(bursts))]
Path("groups.csv").write_text("\n".join(rows) + "\n")
