"""Files that the golden outputs are made of: seeded, and the same whatever the package becomes."""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import own_logs
import pyarrow as pa
import pyarrow.parquet as pq
from biased_release import write_biased

import fslbench_data as fb

ROOT = Path(__file__).resolve().parents[2]
OPEN, CLOSED = "open-5w5s5q", "closed-5w5s5q"
Columns = dict[str, list[Any]]
Make = Callable[[Path], object]


release = lru_cache(maxsize=1)(fb.load_release)
"""The embedded release."""


def answers(
    method: str,
    dataset: str,
    task_set: str,
    skill: float,
    *,
    seed: int = 0,
    tasks: int | None = None,
    run: str | None = None,
    of: Any = None,
) -> Columns:
    """A method that answers each query rightly with a probability near `skill`, with predictions.

    Some classes and tasks are harder than others; answers of one seed are alike.
    """
    found = (of or release()).task_set(dataset, task_set)
    label = found.query_label[:tasks].astype(np.int64)
    count, n_query = label.shape
    way = int(label.max()) + 1
    rng = np.random.default_rng([seed, sum(dataset.encode()), sum(task_set.encode())])
    ease = (
        0.25 * (rng.random((count, 1)) - 0.5)
        + 0.15 * (rng.random((count, way)) - 0.5)[np.arange(count)[:, None], label]
    )
    own = np.random.default_rng([sum(method.encode()), sum((run or "").encode()), count])
    luck = 0.7 * rng.random(label.shape) + 0.3 * own.random(label.shape)
    other = (label + own.integers(1, way, label.shape)) % way
    predictions = np.where(luck < skill + ease, label, other)
    right = predictions == label
    by_class = np.stack([(right & (label == k)).sum(axis=1) for k in range(way)], axis=1)
    columns: Columns = {
        "method": [method] * count,
        "dataset": [dataset] * count,
        "task_set": [task_set] * count,
        "task_id": list(range(count)),
        "n_correct": right.sum(axis=1).tolist(),
        "n_query": [n_query] * count,
    }
    if run is not None:
        columns["run"] = [run] * count
    return columns | {"class_correct": by_class.tolist(), "predictions": predictions.tolist()}


def joined(parts: Sequence[Columns]) -> Columns:
    """One below the other; what one has not is null."""
    names = list(dict.fromkeys(name for part in parts for name in part))
    return {
        name: [v for part in parts for v in part.get(name, [None] * len(part["method"]))]
        for name in names
    }


KINDS = {
    "task_id": pa.int32(),
    "n_correct": pa.int16(),
    "n_query": pa.int16(),
    "class_correct": pa.list_(pa.int16()),
    "predictions": pa.list_(pa.int8()),
}


def write(
    path: Path,
    columns: Columns,
    about: dict[str, dict[str, Any]] | None = None,
    *,
    declared: dict[str, dict[str, Any]] | None = None,
    of: Any = None,
) -> None:
    """Write Parquet with metadata that binds every group, as `Submission.write` does.

    It holds what methods say `about` themselves, and what is `declared` of a group besides, by
    ``METHOD DATASET/TASK_SET``.
    """
    methods: dict[str, Any] = {}
    groups = dict.fromkeys(
        zip(columns["method"], columns["dataset"], columns["task_set"], strict=True)
    )
    for method, dataset, task_set in groups:
        entry = methods.setdefault(method, {**(about or {}).get(method, {}), "task_sets": {}})
        key = f"{dataset}/{task_set}"
        fingerprint = (of or release()).task_set_info(dataset, task_set).fingerprint
        more = (declared or {}).get(f"{method} {key}", {})
        entry["task_sets"][key] = {"fingerprint": fingerprint} | more
    content = {"spec_version": "1.0", "package_version": "0.1.0", "methods": methods}
    table = pa.table({name: pa.array(v, KINDS.get(name)) for name, v in columns.items()})
    table = table.replace_schema_metadata({b"fslbench": json.dumps(content).encode()})
    pq.write_table(table, path)


def write_columns(path: Path, columns: Columns) -> Path:
    """Write Parquet without metadata, CSV or JSON Lines, as the path ends; gives the path.

    Lists are JSON in CSV; of JSON Lines what is null is left out.
    """
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
        return path
    rows = list(zip(*columns.values(), strict=True))
    with path.open("w", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(columns)
            for row in rows:
                writer.writerow(json.dumps(v) if isinstance(v, list) else v for v in row)
        else:
            for row in rows:
                content = dict(zip(columns, row, strict=True))
                file.write(json.dumps({k: v for k, v in content.items() if v is not None}) + "\n")
    return path


def several(skills: dict[str, float], *sets: str, dataset: str = "digits", **how: Any) -> Columns:
    pairs = product(skills, sets)
    return joined([answers(of, dataset, name, skills[of], **how) for of, name in pairs])


def with_fingerprints(columns: Columns) -> Columns:
    sets = zip(columns["dataset"], columns["task_set"], strict=True)
    prints = [release().task_set_info(*key).fingerprint for key in sets]
    return {**columns, "fingerprint": prints}


def bare(columns: Columns) -> Columns:
    return {k: v for k, v in columns.items() if k not in ("class_correct", "predictions")}


def example(path: Path) -> None:
    shutil.copyfile(ROOT / "examples/my_results.parquet", path)


def three_columns() -> Columns:
    skills = {"clip/A": 0.9, "clip/B": 0.86, "net|C": 0.7}
    return several(skills, OPEN, "open-5w10s7q", CLOSED, seed=3)


def three(path: Path) -> None:
    about = {
        "clip/A": {"description": "the first", "backbone": "clip", "link": "https://example.org/a"},
        "clip/B": {"description": "the second", "transductive": True},
    }
    write(path, three_columns(), about)


def runs(path: Path) -> None:
    seeded = {"seeded": 0.85}, ("seed 0", "seed 1", "seed 2")
    parts = [
        several(skills, "open-5w1s1q", OPEN, seed=5, run=run)
        for skills, names in (seeded, ({"twice": 0.8}, ("a", "b")), ({"once": 0.84}, ("only",)))
        for run in names
    ]
    write(path, bare(joined(parts)))


def runs_pilot(path: Path) -> None:
    answered = ("twice", 0.7, "a"), ("twice", 0.8, "b"), ("once", 0.7, "a")
    parts = [several({of: skill}, OPEN, CLOSED, seed=6, run=run) for of, skill, run in answered]
    write(path, joined(parts))


def prefix(path: Path) -> None:
    """The first 40 of 176 open tasks and of 600 closed ones; another method answers all."""
    sets = "open-5w1s1q", "closed-5w1s1q"
    parts = [several({"part": 0.95}, *sets, tasks=40), several({"whole": 0.8}, *sets)]
    write(path, joined(parts), declared={f"part digits/{name}": {"tasks": 40} for name in sets})


def stopped(path: Path) -> None:
    tasks = {"closed-5w1s1q": 120, "balanced-5w1s1q": 60}
    parts = [answers("stopper", "groceries", s, 0.97, tasks=n) for s, n in tasks.items()]
    rule = {"versus": "efficientnet_lite0/NCC", "level": 0.95}
    declared = {f"stopper groceries/{s}": {"tasks": n, "stopping": rule} for s, n in tasks.items()}
    write(path, bare(joined(parts)), declared=declared)


def unbound(path: Path) -> None:
    other = answers("loose", "dtd", "published-5w5s5q", 0.7)
    write_columns(path, bare(joined([answers("loose", "digits", OPEN, 0.8), other])))


def perfect(path: Path) -> None:
    """All right, all wrong, two that are equal, and one that is nearly perfect."""
    skills = {"all right": 2.0, "none right": -2.0, "near": 1.08}
    equal = answers("near", "digits", OPEN, 1.08)
    equal["method"] = ["equal"] * len(equal["method"])
    write(path, joined([several(skills, OPEN, "open-5w10s7q", CLOSED), equal]))


def attributed(path: Path) -> None:
    sets = [
        (info.dataset, str(info.name))
        for info in release().task_sets
        if str(info.name).endswith(("_style-5w5s5q", "_titles-5w5s5q"))
    ]
    pairs = product({"steady": 0.8, "fragile": 0.72}.items(), sets)
    write(path, joined([answers(of, *key, skill, seed=2) for (of, skill), key in pairs]))


def twelve(path: Path) -> None:
    """Twelve methods on all sets of at most 300 tasks: predictions, prefixes, and sets left out."""
    parts, declared = [], {}
    infos = [i for i in release().task_sets if i.name.suite not in ("allway", "episodes")]
    for number in range(12):
        method = f"backbone{number % 4}/head{number // 4}"
        for index, info in enumerate(infos):
            if info.n_tasks > 300 or (number * 7 + index) % 11 == 0:
                continue
            tasks = min(info.n_tasks, 60) if number == 11 else None
            key = (info.dataset, str(info.name))
            part = answers(method, *key, 0.6 + 0.03 * number, seed=9, tasks=tasks)
            if tasks is not None and tasks < info.n_tasks:
                declared[f"{method} {info.dataset}/{info.name}"] = {"tasks": tasks}
            parts.append(part if number % 3 == 0 and info.n_tasks < 100 else bare(part))
    about = {"backbone3/head1": {"transductive": True, "description": "looks at all queries"}}
    write(path, joined(parts), about, declared=declared)


def many(path: Path) -> None:
    write(path, bare(several({f"m{i:02}": 0.6 + i / 80 for i in range(25)}, OPEN)))


def accuracies(path: Path) -> None:
    counts = np.array(answers("x", "cub", "published-5w5s5q", 0.8)["n_correct"])
    if path.suffix == ".npy":
        np.save(path, counts / 25)
    else:
        path.write_text("".join(f"{100 * c / 25:g}\n" for c in counts))


METHOD = """def nearest(support, query, rng):
    distances = ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2)
    return distances.argmin(axis=1)


def wrong(support, query, rng):
    return [9] * len(query)


def breaks(support, query, rng):
    raise RuntimeError('no such luck')


value = 3
"""


SWEEP = {
    "dataset": "digits", "method": "pixels/NCC", "way": 5, "shot": 5, "seeds": 20, "level": 0.95,
    "rows": [
        {"query": q, "tasks": 60.0 - q, "observed": 3.0 + 0.1 * q, "model": 3.1} for q in (1, 2, 3)
    ],
}  # fmt: skip

SPEC = """
name = "small"
version = "{version}"
description = "A small release."
protocols = ["5w1s1q", "3w2s2q"]
seed = {seed}
tasks = {{ closed = {closed} }}
[[dataset]]
name = "vgg_flower"
source = "catalogue"
suites = ["published", "open", "closed", "balanced"]
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open", "balanced"]
"""


def small(path: Path, version: str = "1.0.0", seed: int = 0) -> None:
    from click.testing import CliRunner

    from builders.cli import main

    file = path.with_name(f"{path.name}.toml")
    file.write_text(SPEC.format(version=version, seed=seed, closed=40))
    result = CliRunner().invoke(main, ["release", str(file), "-o", str(path)])
    assert result.exit_code == 0, result.output
    file.unlink()


def small_damaged(path: Path) -> None:
    small(path)
    file = sorted((path / "tasks").rglob("*.parquet"))[0]
    file.write_bytes(file.read_bytes()[:-20])


def biased_answers(path: Path) -> None:
    """Answers to a release that stands beside the file."""
    folder = path.with_name("biased")
    if not folder.exists():
        write_biased(folder)
    opened = fb.load_release(folder)
    sets = [str(info.name) for info in opened.task_sets]
    skills = {"steady": 0.8, "fragile": 0.7}
    write(path, several(skills, *sets, dataset="things", of=opened), of=opened)


def results(path: Path) -> None:
    """A results repository: three submissions, one twice, and six that are refused or ignored."""
    folder = _board(path, 'title = "Golden"\nreleases = ["embedded"]\n')
    (path / "README.md").write_text("x\n")
    for make in (example, three, prefix, runs, many):
        _propose(folder, make)
    _propose(folder, example, lambda content: content[:-9])
    _propose(folder, partial(write, columns=bare(answers("pixels/NCC", "digits", OPEN, 0.8))))
    part = bare(answers("short", "digits", OPEN, 0.8))
    _propose(folder, partial(write, columns={k: v[:20] for k, v in part.items()}))
    over = {**part, "n_correct": [*part["n_correct"][:30], 26]}
    _propose(folder, partial(write, columns=over))
    example(folder / f"{'0' * 64}.parquet")
    (folder / "notes.txt").write_text("x\n")


def results_of_superclasses(path: Path) -> None:
    """A results repository with one submission, on data whose superclasses are known."""
    folder = _board(path, 'title = "Golden"\nreleases = ["embedded"]\n')
    own = joined([bare(answers("x", "emoji", name, 0.8)) for name in (OPEN, CLOSED)])
    _propose(folder, partial(write, columns=own))


def _board(path: Path, settings: str) -> Path:
    """Make a results repository with these settings; gives the folder of its submissions."""
    (path / "submissions").mkdir(parents=True)
    (path / "leaderboard.toml").write_text(settings)
    return path / "submissions"


def _propose(
    folder: Path, make: Make, change: Callable[[bytes], bytes] = lambda content: content
) -> None:
    """Write a submission under the SHA-256 of its bytes."""
    draft = folder.parent / "draft.parquet"
    make(draft)
    content = change(draft.read_bytes())
    draft.unlink()
    (folder / f"{hashlib.sha256(content).hexdigest()}.parquet").write_bytes(content)


def own_log(path: Path, *more: Columns) -> None:
    """Three methods on 300 random tasks that reuse 900 images of 15 classes."""
    write_columns(path, joined([own_logs.log(tasks=300), *more]))


def own_log_of_two(path: Path) -> None:
    """Two methods on 200 random tasks of each of two data sets, whose ids are alike."""
    two = {"weak": 0.0, "strong": 0.1}
    columns = joined([own_logs.log(methods=two, tasks=200, seed=seed) for seed in (0, 1)])
    write_columns(path, columns | {"dataset": ["birds"] * 400 + ["planes"] * 400})


def own_log_few(path: Path) -> None:
    """A method on 20 tasks, in three training runs that another answers once, with roles."""
    parts = [own_logs.log(methods={"often": 0.1 + run / 50}, tasks=20) for run in range(3)]
    once = own_logs.log(methods={"once": 0.05}, tasks=20)
    columns = own_logs.with_roles(joined([*parts, once]))
    columns["seed"] = [run for run in range(3) for _ in range(20)] + [0] * 20
    write_columns(path, columns)


def own_log_wrong(path: Path) -> None:
    """The third row has a class twice."""
    columns = own_logs.log(tasks=300)
    columns["class_ids"][2] = [*columns["class_ids"][2][:4], columns["class_ids"][2][0]]
    write_columns(path, columns)


def own_groups(path: Path) -> None:
    """Every class's images in threes."""
    rows = [f"{1000 * c + i},{c}-{i // 3}\n" for c in range(15) for i in range(60)]
    path.write_text("image,group\n" + "".join(rows))


def all_classes(path: Path) -> None:
    """Two methods on three draws of the support, and one without, of five classes at once."""
    names = "method", "draw", "shots", "image", "class", "predicted", "second"
    rng = np.random.default_rng(0)
    owner, columns = np.arange(60) % 5, {name: [] for name in names}
    for method, skill, draws in (("adapter", 1.2, 3), ("prompt", 0.8, 3), ("zero-shot", 0.5, 1)):
        for draw in range(draws):
            scores = rng.normal(size=(60, 5)) + skill * np.eye(5)[owner]
            best, second = np.argsort(-scores, axis=1)[:, :2].T.tolist()
            of = [method] * 60, [draw if draws > 1 else None] * 60, [4 if draws > 1 else None] * 60
            rows = *of, range(60), owner.tolist(), best, second
            for column, values in zip(columns.values(), rows, strict=True):
                column.extend(values)
    write_columns(path, columns)


def text(content: str) -> Make:
    return partial(Path.write_text, data=content)


INPUTS: dict[str, Make] = {
    "all_classes.csv": all_classes,
    "my_results.parquet": example,
    "three.parquet": three,
    "three.csv": lambda path: write_columns(path, with_fingerprints(three_columns())),
    "three.jsonl": lambda path: write_columns(path, with_fingerprints(three_columns())),
    "runs.parquet": runs,
    "runs_pilot.parquet": runs_pilot,
    "prefix.parquet": prefix,
    "stopped.parquet": stopped,
    "unbound.csv": unbound,
    "perfect.parquet": perfect,
    "attributed.parquet": attributed,
    "twelve.parquet": twelve,
    "many.parquet": many,
    "accuracies.txt": accuracies,
    "accuracies.npy": accuracies,
    "accuracies_wrong.txt": text("80\n81.3\n"),
    "method.py": text(METHOD),
    "small.toml": text(SPEC.format(version="1.0.0", seed=0, closed=40)),
    "small_wrong.toml": text(
        SPEC.format(version="1.0.0", seed=0, closed=40).replace("catalogue", "nowhere")
    ),
    "small": small,
    "small_next": partial(small, version="1.0.1", seed=1),
    "small_damaged": small_damaged,
    "biased": write_biased,
    "biased_answers.parquet": biased_answers,
    "results": results,
    "results_of_superclasses": results_of_superclasses,
    "results_wrong": partial(_board, settings="title = 3\n"),
    "own_log.jsonl": own_log,
    "own_log.csv": own_log,
    "own_log_apart.jsonl": lambda path: own_log(
        path, own_logs.log(methods={"apart": 0.05}, tasks=300, seed=1)
    ),
    "own_log_few.jsonl": own_log_few,
    "own_log_of_two.csv": own_log_of_two,
    "own_log_wrong.jsonl": own_log_wrong,
    "own_sizes.csv": text("class,n_images\n" + "".join(f"{c},60\n" for c in range(15))),
    "own_sizes_wrong.json": text(json.dumps(dict.fromkeys(range(15), 120))),
    "own_groups.csv": own_groups,
    "own_superclasses.json": text(json.dumps({c: f"kind {c // 2}" for c in range(15)})),
}
