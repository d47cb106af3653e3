"""The sequences behind the released accuracies of Lafargue et al. (TMLR 2024)."""

import hashlib
import json
from pathlib import Path

import numpy as np

from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol
from builders.sampling import draw_published
from fslbench_data.release.release import Release

# number of tasks at 1, 5, 10 shots, as the released files have them
TASKS = {
    "aircraft": (145, 28, 14),
    "cub": (175, 33, 17),
    "dtd": (82, 16, 9),
    "fungi": (1275, 235, 132),
    "mscoco": (2000, 2000, 1616),
    "omniglot": (1317, 263, 131),
    "quickdraw": (2000, 2000, 2000),
    "traffic_signs": (2000, 773, 449),
    "vgg_flower": (118, 22, 11),
}


def _sha(array: object) -> str:
    return hashlib.sha256(np.ascontiguousarray(array, "<i4").tobytes()).hexdigest()


def test_the_embedded_sets_have_the_published_number_of_tasks(embedded: Release) -> None:
    for dataset, numbers in TASKS.items():
        sets = [f"published-{protocol}" for protocol in PUBLISHED_PROTOCOLS]
        found = [embedded.task_set_info(dataset, name).n_tasks for name in sets]
        assert tuple(found) == numbers


def test_the_embedded_sets_are_the_published_sequences(shared: Path, embedded: Release) -> None:
    """From the frozen tables alone: classes, support and queries in the order of the draw."""
    sequences = json.loads((shared / "design/published_sequences.json").read_text())
    assert len(sequences) == 4
    for dataset, protocols in sequences.items():
        start = np.array(embedded.classes(dataset).column("first_image_id"))
        for protocol_name, expected in protocols.items():
            protocol = Protocol.parse(protocol_name)
            tasks = embedded.task_set(dataset, f"published-{protocol_name}")
            first = start[tasks.class_ids][..., None]
            by_label = np.argsort(tasks.query_label, axis=1, kind="stable")
            query = np.take_along_axis(tasks.query, by_label, axis=1)
            query = query.reshape(-1, protocol.way, protocol.query)
            assert len(tasks) == expected["T"]
            assert _sha(tasks.class_ids) == expected["classes"]
            assert _sha(tasks.support - first) == expected["support"]
            assert _sha(query - first) == expected["query"]


def test_it_is_algorithm_2_written_with_choice() -> None:
    """The literal algorithm, with lists and RandomState.choice, on classes that run out."""
    sizes, protocol = [7, 12, 30, 9, 11, 8], Protocol(3, 2, 1)
    generator = np.random.RandomState(0)
    left = [list(range(n)) for n in sizes]
    classes, images = [], []
    while True:
        ids = [c for c in range(6) if len(left[c]) >= 3]
        if len(ids) < 3:
            break
        chosen = generator.choice(ids, 3, replace=False)
        taken = []
        for c in chosen:
            drawn = generator.choice(left[c], 3, replace=False)
            left[c] = [i for i in left[c] if i not in drawn]
            taken.append(drawn.tolist())
        classes.append(chosen.tolist())
        images.append(taken)
    found = draw_published(sizes, protocol, dataset="x")
    assert found.class_ids.tolist() == classes
    assert np.concatenate([found.support, found.query], axis=2).tolist() == images
