"""Sets of all classes at once in a release: drawn, answered, and scored as a log of them is."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from recorded import answered, in_run
from results_repository import Repository

import fslbench_data as fb
from analysis_sql.leave_one_out.all_ways import AllWaySums
from benchmark_spec.errors import (
    ContradictionError,
    DoubledTaskError,
    FSLBenchError,
    MissingTaskError,
    PredictionError,
    SamplingError,
    SchemaError,
    UnknownTaskError,
)
from benchmark_spec.protocol import TaskSetName
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About, images_table
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.tables import leaderboard_tables
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.recorder import Recorder

SIZES, SHOTS, DRAWS = [6, 7, 8], 2, 4
OTHERS, OWN_PART, WIDE = "allway-3w2s15q", "allway-3w2s9q", "allway-130w1s130q"
SEVEN = "allway-3w2s7q"
OWNER = np.repeat(range(3), SIZES)
PATHS = [f"{'test' if i % 7 < 3 else 'train'}/{i}.png" for i in range(21)]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Three classes, with their own test part or all others for queries; and 130 classes."""
    writer = ReleaseWriter(folder := tmp_path_factory.mktemp("allway") / "r", "r", "1.0.0", "R.")
    about = About("A", "https://example.org", "CC0", "@misc{x}", redistribution="features")
    columns = {"image_id": range(21), "class_id": OWNER, "path": PATHS}
    images = images_table(columns | {"class_name": ["abc"[c] for c in OWNER]})
    writer.add_dataset("few", about, list("abc"), SIZES, images)
    name = TaskSetName.parse(OTHERS)
    writer.add_tasks("few", name, *draw_task_set("few", name, SIZES, seed=1, tasks=DRAWS))
    name, part = TaskSetName.parse(OWN_PART), {"paths": PATHS, "test": "test/"}
    drawn = draw_task_set("few", name, SIZES, seed=1, tasks=DRAWS, **part)
    writer.add_tasks("few", name, *drawn, drawn=True)
    x = np.random.default_rng(0).normal(size=(21, 4)) + 1.2 * np.eye(4)[OWNER]
    writer.add_features("few", "net", iter([x.astype(np.float16)]), {"backbone": "net"})
    writer.add_dataset("many", about, [str(c) for c in range(130)], [2] * 130)
    name = TaskSetName.parse(WIDE)
    writer.add_tasks("many", name, *draw_task_set("many", name, [2] * 130, seed=1, tasks=3))
    writer.finish()
    return load_release(folder)


def _submission(release: Release, dataset: str, name: str, methods: int = 2) -> fb.Submission:
    parts, tasks = [], release.task_set(dataset, name)
    for number in range(methods):
        rng = np.random.default_rng(number)
        wrong = rng.integers(0, tasks.class_ids.shape[1], tasks.query.shape)
        answers = np.where(rng.random(wrong.shape) < 0.6, tasks.query_label, wrong)
        parts.append(answered(tasks, answers, f"m{number}", trained=False))
    return fb.merge(parts)


def _scores_of(tasks: fb.TaskSet, seed: int) -> Any:
    """Scores (T, M, K), on the whole higher of the right class."""
    scores = np.random.default_rng(seed).normal(size=(*tasks.query.shape, len(SIZES)))
    return scores + 0.7 * (tasks.query_label[..., None] == np.arange(len(SIZES)))


def _with_second(
    release: Release, seeds: tuple[int, ...], method: str = "one", name: str = OTHERS
) -> fb.Submission:
    """A method of as many runs, with its second-best classes."""
    tasks, parts = release.task_set("few", name), []
    for seed in seeds:
        best = np.argsort(-_scores_of(tasks, seed), axis=2)
        part = answered(tasks, best[..., 0], method, best[..., 1], trained=False)
        parts.append(in_run(part, str(seed)) if len(seeds) > 1 else part)
    return fb.merge(parts)


def test_new_classes_of_a_frozen_set(release: Release) -> None:
    """From the scores themselves, without each class; runs count as their mean."""
    tasks, seeds = release.task_set("few", OWN_PART), (5, 6, 7)
    means = np.zeros(3)
    for left in range(3):
        kept = [c for c in range(3) if c != left]
        asked = np.isin(tasks.query_label, kept)
        for seed in seeds:
            answers = np.array(kept)[_scores_of(tasks, seed)[..., kept].argmax(axis=2)]
            right = (answers == tasks.query_label) & asked
            means[left] += (right.sum(axis=1) / asked.sum(axis=1)).mean() / len(seeds)
    classes = 2 / 3 * ((means - means.mean()) ** 2).sum()
    (found,) = fb.score(_with_second(release, seeds, name=OWN_PART), release).sets
    assert found.kinds == ("closed", "images", "classes")
    assert "classes" not in found.units.missing
    design = found.designs["classes"].at(DRAWS, "classes")
    (*_, variance) = (values[0] for values in AllWaySums(design, found.counts.right).own)
    assert variance == pytest.approx(classes, rel=1e-12)
    intervals = found.scores[0].intervals
    assert intervals["classes"].halfwidth >= intervals["images"].halfwidth


def test_methods_without_second_bests_stand_beside(release: Release) -> None:
    """Of them nothing is said of new classes, nor of their differences."""
    with_it = fb.merge([_with_second(release, (5,)), _with_second(release, (6,), "other")])
    beside = fb.merge([with_it, _submission(release, "few", OTHERS, 1)])
    (alone,), (both,) = (fb.score(one, release).sets for one in (with_it, beside))
    widths = [score.intervals["classes"].halfwidth for score in both.scores]
    assert widths == [*(score.intervals["classes"].halfwidth for score in alone.scores), None]
    rows = both.comparisons.to_arrow().to_pylist()
    rows = {(r["method"], r["versus"]): r for r in rows if r["interval"] == "classes"}
    assert {at for at, r in rows.items() if r["halfwidth"] is not None} == {("one", "other")}
    assert {r["p"] for (_, versus), r in rows.items() if versus == "m0"} == {None}


@pytest.mark.parametrize("batch", [None, 3])
def test_a_method_may_answer_with_scores(
    release: Release, tmp_path: Path, batch: int | None
) -> None:
    """Which give what their two best classes give; a run that was stopped goes on."""

    def distances(support: Any, query: Any, rng: Any) -> Any:
        centres = support.mean(axis=-2)
        return -((query[..., :, None, :] - centres[..., None, :, :]) ** 2).sum(axis=-1)

    def stopping(support: Any, query: Any, rng: Any) -> Any:
        calls.append(0)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return distances(support, query, rng)

    calls: list[int] = []
    how: dict[str, Any] = {"features": "net", "task_sets": OTHERS, "batch": batch, "name": "d"}
    found = fb.evaluate(distances, release, **how)
    tasks, x = release.task_set("few", OTHERS), release.features("few", "net").astype(np.float32)
    order = [np.argsort(-distances(x[t.support], x[t.query], None), axis=1) for t in tasks]
    recorded = answered(tasks, [o[:, 0] for o in order], "d", [o[:, 1] for o in order])
    for column in ("predictions", "second"):
        expected = recorded.table.column(column).to_pylist()
        assert found.table.column(column).to_pylist() == expected
    with pytest.raises(KeyboardInterrupt):
        fb.evaluate(stopping, release, journal=tmp_path / "j", **how)
    assert fb.evaluate(distances, release, journal=tmp_path / "j", **how).table == found.table
    assert fb.score(found, release).sets[0].scores[0].intervals["classes"].halfwidth > 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda scores: np.where(scores > 1, np.nan, scores), "not finite"),
        (lambda scores: scores[:, :2], r"or scores \(15, 3\)"),
    ],
)
def test_scores_that_are_none(release: Release, answer: Any, said: str) -> None:
    tasks = release.task_set("few", OTHERS)
    method = lambda *_: answer(_scores_of(tasks, 0)[0])  # noqa: E731
    with pytest.raises(PredictionError, match=said):
        fb.evaluate(method, release, features="net", task_sets=OTHERS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1].update(second=rows[1]["predictions"]), "class that is predicted"),
        (lambda rows: rows[1].update(second=rows[1]["second"][:-1]), "not one class for each"),
        (lambda rows: rows[1].update(second=[None, *rows[1]["second"][1:]]), "not one class for"),
        (lambda rows: rows[1].update(second=[3, *rows[1]["second"][1:]]), "no class of the task"),
        (lambda rows: rows[1].update(second=[-1, *rows[1]["second"][1:]]), "no class of the task"),
        (lambda rows: rows[1].update(predictions=None, class_correct=None), "not one class for"),
        (lambda rows: [r.update(predictions=None) for r in rows], "not one class|no predictions"),
        (lambda rows: [row.pop("predictions") for row in rows], "and no predictions"),
    ],
)
def test_second_bests_that_are_none(release: Release, change: Any, said: str) -> None:
    submission = _with_second(release, (5,))
    rows = submission.table.to_pylist()
    change(rows)
    with pytest.raises(PredictionError, match=said):
        fb.score(rows_as(submission, rows), release)


def rows_as(submission: fb.Submission, rows: list[dict[str, Any]]) -> fb.Submission:
    """The submission with other rows."""
    names = [name for name in submission.table.column_names if name in rows[0]]
    fields = [submission.table.schema.field(name) for name in names]
    return replace(submission, table=pa.Table.from_pylist(rows, pa.schema(fields)))


def test_second_bests_of_tasks_of_few_classes_are_refused(embedded: Release) -> None:
    tasks = embedded.task_set("digits", "open-5w1s1q")
    with pytest.raises(PredictionError, match="of tasks of all classes alone"):
        Recorder("m").add(tasks[0], tasks[0].query_label, (tasks[0].query_label + 1) % 5)
    right = answered(tasks, tasks.query_label)
    second = pa.array(((tasks.query_label + 1) % 5).tolist(), pa.list_(pa.int8()))
    changed = replace(right, table=right.table.append_column("second", second))
    with pytest.raises(PredictionError, match="tasks of a few classes"):
        fb.score(changed, embedded)
    tasks = embedded.task_set("digits", "allway-10w1s1787q")
    with pytest.raises(PredictionError, match=r"second-best classes are of shape \(1, 1787\)"):
        Recorder("m").add_task_set(tasks, tasks.query_label, tasks.query_label[:1])


def _by_image(release: Release, submission: fb.Submission) -> pa.Table:
    """The same with a row an image and draw, as a log has it and as a submission may."""
    rows = []
    for row in submission.table.to_pylist():
        tasks = release.task_set(row["dataset"], row["task_set"])
        ids = tasks.query[row["task_id"]].tolist()
        labels = tasks.query_label[row["task_id"]].tolist()
        for image, label, predicted in zip(ids, labels, row["predictions"], strict=True):
            named = {key: row[key] for key in ("method", "dataset", "task_set", "task_id")}
            own = {"image_id": image, "predicted": predicted, "class": label}
            rows.append({**named, **own, "fingerprint": tasks.info.fingerprint})
            if other := row.get("second"):
                rows[-1]["second"] = other[ids.index(image)]
    return pa.Table.from_pylist(rows)


def _of(each: Any, kind: str) -> list[Any]:
    """The intervals of methods and of pairs."""
    pairs = [pair.intervals[kind].difference for pair in each.comparisons]
    return [score.intervals[kind] for score in each.scores] + pairs


@pytest.mark.parametrize("name", [OTHERS, OWN_PART])
def test_a_release_and_a_log_give_the_same(release: Release, name: str) -> None:
    submission = fb.merge(
        [_with_second(release, (5,), name=name), _with_second(release, (6,), "other", name)]
    )
    (found,) = fb.score(submission, release).sets
    log = _by_image(release, submission).rename_columns({"task_id": "draw", "image_id": "image"})
    log = log.select(["method", "draw", "image", "class", "predicted", "second"])
    log = log.append_column("shots", pa.array([SHOTS] * len(log)))
    pool = np.mean(SIZES) - (3 if name == OWN_PART else 0)  # less those of the test part
    (expected,) = fb.all_ways(log, pool=pool).sets
    rows = {row["interval"]: row for row in found.comparisons.to_arrow().to_pylist()}
    for kind in ("images", "classes"):
        for one, other in zip(_of(found, kind), _of(expected, kind), strict=True):
            assert one.mean == pytest.approx(other.mean, abs=1e-12)
            assert one.halfwidth == pytest.approx(other.halfwidth, rel=1e-9)
        p = expected.p_values(kind)[0, 1]
        assert found.p_values(kind)[0, 1] == pytest.approx(p, rel=1e-9)
        assert rows[kind]["p"] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("form", ["images.csv", "lists.csv", "written.parquet"])
def test_second_bests_in_files(release: Release, form: str, tmp_path: Path) -> None:
    submission, path = _with_second(release, (5,)), tmp_path / form
    if form == "images.csv":
        rows = _by_image(release, submission).drop_columns(["class"])
        shuffled = rows.to_pandas().sample(frac=1, random_state=0)
        shuffled.to_csv(path, index=False)
    elif form == "lists.csv":
        frame = submission.table.to_pandas()
        for column in ("predictions", "second", "class_correct"):
            frame[column] = [json.dumps(values.tolist()) for values in frame[column]]
        fingerprint = release.task_set_info("few", OTHERS).fingerprint
        frame.assign(fingerprint=fingerprint).to_csv(path, index=False)
    else:
        submission.write(path)
    (found,), (expected,) = (fb.score(one, release).scores for one in (path, submission))
    for kind in ("images", "classes"):
        assert found.intervals[kind] == expected.intervals[kind]


def test_what_never_varies_has_no_p(release: Release) -> None:
    tasks = release.task_set("few", OTHERS)
    parts = [
        answered(tasks, (tasks.query_label + shift) % 3, method, trained=False)
        for method, shift in (("right", 0), ("wrong", 1), ("wrong too", 1))
    ]
    rows = fb.score(fb.merge(parts), release).comparisons.to_arrow().to_pylist()
    found = [(row["verdict"], row["p"]) for row in rows if row["interval"] == "images"]
    assert found == [("?", None), ("?", None), ("=", 1.0)]


def test_queries_are_the_test_part_or_all_others(release: Release) -> None:
    for name in (OTHERS, OWN_PART):
        for task in release.task_set("few", name):
            assert (OWNER[task.support] == np.arange(3)[:, None]).all()
            assert (OWNER[task.query] == task.query_label).all()
            rest = {*range(21)} - {*task.support.ravel().tolist()}
            tested = {i for i in range(21) if PATHS[i].startswith("test/")}
            assert {*task.query.tolist()} == (tested if name == OWN_PART else rest)
            assert name == OTHERS or not tested & {*task.support.ravel().tolist()}
    assert not verify(release.files.folder).problems


def test_the_first_draws_are_a_set_and_groups_count_once() -> None:
    name, groups = TaskSetName.parse("allway-3w1s9q"), np.repeat(np.arange(12), 2)
    whole, how = draw_task_set("g", name, [8] * 3, seed=3, tasks=6, groups=groups)
    part, _ = draw_task_set("g", name, [8] * 3, seed=3, tasks=2, groups=groups)
    assert whole.slice(0, 2) == part
    assert how["unit"] == "group"
    for row in whole.to_pylist():
        assert len({groups[i] for i in row["support"] + row["query"]}) == 12


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("allway-3w2s14q", {"tasks": 3}, "the name allway-3w2s15q"),
        (OTHERS, {"tasks": 1}, "at least 2"),
        ("allway-3w6s3q", {"tasks": 3}, "6 images to draw 6"),
        (OTHERS, {"tasks": 3, "paths": PATHS, "test": "nowhere/"}, "3 classes have no images"),
    ],
)
def test_what_cannot_be_drawn(name: str, how: dict[str, Any], said: str) -> None:
    with pytest.raises(SamplingError, match=said):
        draw_task_set("few", TaskSetName.parse(name), SIZES, **how)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda rows: rows.append(dict(rows[0])), DoubledTaskError, "more than once in task 0"),
        (lambda rows: rows.pop(), MissingTaskError, "1 of 15 queries of task 3"),
        (lambda rows: rows[5].update(task_id=4), UnknownTaskError, "no task 4"),
        (lambda rows: rows[5].update(task_id=-1), UnknownTaskError, "no task -1"),
        (lambda rows: rows[5].update(image_id=99), PredictionError, "image 99 is no query"),
        (lambda rows: rows[5].update(predicted=3), PredictionError, "predicted is 3"),
        (lambda rows: [r.update(task_set=SEVEN) for r in rows], FSLBenchError, SEVEN),
        (lambda rows: rows[5].update(fingerprint="0" * 64), FSLBenchError, "fingerprint"),
        (lambda rows: rows[5].update(predicted=None), PredictionError, "predicted is null"),
        (lambda rows: [row.pop("method") for row in rows], SchemaError, "misses the column"),
    ],
)
def test_hostile_rows_are_refused(
    release: Release, change: Callable[[Any], object], kind: type[Exception], said: str
) -> None:
    rows = _by_image(release, _submission(release, "few", OTHERS, 1)).to_pylist()
    change(rows)
    with pytest.raises(kind, match=said):
        fb.score(pa.Table.from_pylist(rows), release)


def test_more_classes_than_a_byte_holds(release: Release, tmp_path: Path) -> None:
    submission = _submission(release, "many", WIDE)
    assert submission.table.schema.field("predictions").type == pa.list_(pa.int16())
    submission.write(path := tmp_path / "wide.parquet")
    assert np.isfinite(fb.score(path, release).sets[0].scores[0].intervals["images"].halfwidth)
    for column in ("n_correct", "class_correct"):
        values = submission.table.column(column).to_pylist()
        values[1] = values[0]
        at = submission.table.column_names.index(column)
        kind = submission.table.schema.field(column).type
        changed = submission.table.set_column(
            at, column, pa.chunked_array([pa.array(values, kind)])
        )
        with pytest.raises(ContradictionError):
            fb.score(replace(submission, table=changed), release)


def test_counts_alone_are_compared_by_the_usual_interval(release: Release) -> None:
    """Where no method says which queries were right, nothing is said of new images."""
    known = _submission(release, "few", OTHERS)
    names = [n for n in known.columns if n not in ("predictions", "class_correct")]
    found = fb.score(replace(known, table=known.table.select(names)), release)
    rows = {row["interval"]: row for row in found.comparisons.to_arrow().to_pylist()}
    assert (rows["closed"]["halfwidth"] or 0) > 0
    assert rows["images"]["halfwidth"] is None
    assert rows["images"]["p"] is None


def test_a_leaderboard_has_the_usual_interval_alone_and_says_so(
    release: Release, tmp_path: Path
) -> None:
    """It holds counts, from which nothing follows for other test images."""
    repository = Repository(tmp_path)
    repository.add(submission := _submission(release, "few", OTHERS))
    found = leaderboard(repository.files, [release])
    (standing,) = found.boards[0].sets
    own = fb.score(submission, release).sets[0].scores[0].intervals["closed"]
    row = next(row for row in standing.rows() if row.method == "m0")
    assert {kind: of.accuracy for kind, of in row.intervals.items()} == {"closed": own}
    ((table, _),) = leaderboard_tables(found)
    assert table.title.endswith("4 draws, 95 % closed intervals (new tasks of these images)")
    assert "No interval for new images (leaderboards keep no answers to single queries)." in (
        table.notes
    )


def test_a_method_runs_once_a_draw(release: Release) -> None:
    calls = []

    def nearest(support: Any, query: Any, rng: Any) -> Any:
        calls.append(support.shape + query.shape)
        return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)

    found = fb.evaluate(nearest, release, features="net", task_sets=OTHERS)
    assert calls[:DRAWS] == [(3, SHOTS, 4, 15, 4)] * DRAWS
    again = [(3, SHOTS, 4, n, 4) for n in (15, *(size - SHOTS for size in SIZES))]
    assert calls[DRAWS:] == again * DRAWS  # each class's queries without the others
    assert fb.score(found, release).sets[0].scores[0].accuracy.tasks == DRAWS
    assert release.load_dataset(f"tasks-{OWN_PART}", "few").num_rows == DRAWS


@pytest.mark.slow
def test_more_queries_than_sixteen_bits_count(tmp_path: Path) -> None:
    """As of ImageNet's test part: counts are int32 in files, and all else is the same."""
    writer = ReleaseWriter(folder := tmp_path / "r", "r", "1.0.0", "R.")
    about = About("A", "https://example.org", "CC0", "@misc{x}", redistribution="features")
    writer.add_dataset("large", about, ["a", "b"], sizes := [16_500, 16_501])
    name = TaskSetName.parse("allway-2w1s32999q")
    writer.add_tasks("large", name, *draw_task_set("large", name, sizes, seed=1, tasks=2))
    submission = _submission(writer.so_far(), "large", str(name), methods=1)
    writer.add_results(submission, {})
    writer.finish()
    release = load_release(folder)
    submission.write(path := tmp_path / "large.parquet")
    read = fb.Submission.read(path).table
    assert read.schema.field("n_correct").type == read.schema.field("n_query").type == pa.int32()
    right = np.array(read.column("n_correct"))
    assert right.min() > 20_000
    (score,) = fb.score(path, release, references=False).scores
    assert score.accuracy.mean == pytest.approx(100 * right.mean() / 32_999, abs=1e-10)
    assert 0.1 < score.intervals["images"].halfwidth < 1.0
    loaded = release.load_dataset("results", "test")
    assert loaded["n_correct"] == right.tolist()
    ((total,),) = fb.connect(release).sql("SELECT sum(n_correct) FROM results").fetchall()
    assert total == right.sum()
