"""Results recorded, read and merged: nothing is lost, and what disagrees is refused."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import invoke, printed
from golden_inputs import with_fingerprints, write_columns
from msgspec.structs import replace
from recorded import in_run, recorded

import fslbench_data as fb
from benchmark_spec import errors
from benchmark_spec.digest import content_digest
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.sandbox.limits import Limits
from fslbench_data.submission.merging import renamed
from fslbench_data.submission.model import Binding, Method, Stopping, read_metadata
from fslbench_data.submission.reading import read_accuracies
from fslbench_data.validation.validate import validate

SET = "dtd/published-5w10s7q"  # 9 tasks of 35 queries
COUNTS = [35, 30, 28, 0, 7, 33, 34, 20, 21]
COMMAS = "separate the columns by commas"
MERGED = ("open-5w5s5q", "open-5w1s1q")
STOPPED = "closed-5w1s1q"


def test_at_once_is_the_same_as_one_by_one(toy):
    tasks = toy.task_set("cats", "closed-2w1s2q")
    predictions = np.random.default_rng(0).integers(0, 2, tasks.query_label.shape)
    one, all_ = fb.Recorder("mine"), fb.Recorder("mine")
    counts = [one.add(task, predictions[task.task_id]) for task in tasks]
    assert all_.add_task_set(tasks, predictions).tolist() == counts
    assert content_digest(one.submission().table) == content_digest(all_.submission().table)


def test_the_first_tasks_may_be_answered_alone(toy, tmp_path):
    tasks = toy.task_set("cats", "closed-2w1s2q")
    recorder = fb.Recorder("mine")
    recorder.add(tasks[1], tasks.query_label[1])
    with pytest.raises(errors.MissingTaskError, match="task_id 0"):
        recorder.submission()
    recorder.add(tasks[0], tasks.query_label[0])
    recorder.submission().write(tmp_path / "x.parquet")
    metadata = pq.read_schema(tmp_path / "x.parquet").metadata[b"fslbench"]
    declared = json.loads(metadata)["methods"]["mine"]["task_sets"]
    assert declared == {"cats/closed-2w1s2q": {"fingerprint": tasks.info.fingerprint, "tasks": 2}}
    others = {"name": 3, "task_sets": {"cats/closed-2w1s2q": {"fingerprint": "f", "of_release": 1}}}
    read, bound, _ = read_metadata(json.dumps({"methods": {"mine": others}}).encode(), "")
    assert (read["mine"].name, bound.popitem()[1]) == ("mine", Binding("f"))
    assert validate(fb.Submission.read(tmp_path / "x.parquet"), toy).groups[0].tasks == 2


def test_what_cannot_be_recorded(toy):
    tasks = toy.task_set("cats", "closed-2w1s2q")
    recorder = fb.Recorder("mine")
    with pytest.raises(errors.SubmissionError, match="nothing"):
        recorder.submission()
    for wrong, said in (
        ([0, 1, 0], "shape"),
        ([0.0, 1.0, 0.0, 1.0], "float64"),
        ([0, 1, 2, 0], "predicted 2"),
        ([0, 1, -1, 0], "predicted -1"),
        ([[0, 1, 0, 1]] * 2, "2 tasks"),
        (([0, 1, 0, 1], [0.5]), "a tuple of which numpy makes no array"),
    ):
        with pytest.raises(errors.PredictionError, match=said):
            recorder.add(tasks[0], wrong)
    recorder.add(tasks[0], [0, 1, 0, 1])
    with pytest.raises(errors.DoubledTaskError, match="task 0"):
        recorder.add(tasks[0], [0, 1, 0, 1])
    with pytest.raises(errors.MethodNameError):
        fb.Recorder(" mine")


def test_episodes_refuse_what_other_sets_do(embedded):
    tasks = embedded.task_set("digits", "episodes-10w100s10q")
    right = [task.query_label for task in tasks]
    with pytest.raises(errors.PredictionError, match="predictions for 601 tasks"):
        fb.Recorder("mine").add_task_set(tasks, [*right, right[0]])
    with pytest.raises(errors.PredictionError, match="of tasks of all classes alone"):
        fb.Recorder("mine").add_task_set(tasks, right, [own + 1 for own in right])


def test_a_file_that_cannot_be_written_leaves_nothing(toy, tmp_path):
    submission = recorded(toy.task_set("cats", "closed-2w1s2q"), [4, 3, 2, 1, 0])
    (tmp_path / "y.parquet").mkdir()
    for name, said in (
        ("no/x.parquet", "cannot write"),
        ("x", r"does not end in \.parquet"),
        ("y.parquet", "is a folder"),
    ):
        with pytest.raises(errors.OutputError, match=said):
            submission.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == [tmp_path / "y.parquet"]


def test_fractions_and_percentages(embedded):
    info = embedded.task_set_info(*SET.split("/"))
    for scale in (1, 100):
        found = fb.Submission.from_accuracies(scale * np.array(COUNTS) / 35, info, "mine")
        assert found.table.column("n_correct").to_pylist() == COUNTS
        assert found.bindings == {}
        with pytest.raises(errors.UnboundError):
            fb.score(found, embedded)
        assert fb.score(found, embedded, allow_unbound=True).signature.unbound
    vouched = fb.Submission.from_accuracies(np.array(COUNTS) / 35, info, "mine", bind=True)
    assert not fb.score(vouched, embedded).signature.unbound


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5] * 9, "no multiple of 1/35"),
        ([1.0] * 8, r"\(8,\)"),
        ([float("nan")] + [1.0] * 8, "tasks 0"),
        ([-0.2] + [1.0] * 8, "tasks 0"),
        ([120.0] + [100.0] * 8, "tasks 0"),
    ],
)
def test_accuracies_that_no_tasks_give(values, said, embedded):
    with pytest.raises(errors.AccuracyError, match=said):
        fb.Submission.from_accuracies(values, embedded.task_set_info(*SET.split("/")), "mine")


def test_every_way_to_write_a_list(tmp_path):
    values = 100 * np.array(COUNTS) / 35
    np.save(tmp_path / "a.npy", values.astype(np.float32))
    (tmp_path / "b.txt").write_text("\n".join(map(repr, values.tolist())))
    (tmp_path / "c.txt").write_text(", ".join(map(str, values.tolist())))
    (tmp_path / "d.csv").write_text("\n".join(map(str, values.tolist())))
    (tmp_path / "e.csv").write_text("accuracy\n" + "\n".join(map(str, values.tolist())))
    rows = "".join(f"{i},{v}\n" for i, v in enumerate(values.tolist()))
    (tmp_path / "f.csv").write_text("task,accuracy\n" + rows)
    for name in ("a.npy", "b.txt", "c.txt", "d.csv", "e.csv", "f.csv"):
        assert read_accuracies(tmp_path / name) == pytest.approx(values)


def test_lists_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "words.txt").write_text("good bad")
    (tmp_path / "wide.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("objects.npy", "words.txt", "wide.csv", "empty.csv", "nowhere.txt"):
        with pytest.raises(errors.UnreadableError):
            read_accuracies(tmp_path / name)


def test_two_files_of_one_method_are_compared(embedded, tmp_path):
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    for path, loss in ((old, 0), (new, 3)):
        rng, parts = np.random.default_rng(0), []
        for name, less in (("open-5w5s5q", loss), ("open-5w10s7q", 0)):
            tasks = embedded.task_set("digits", name)
            parts.append(recorded(tasks, rng.integers(15, 24, len(tasks)) - less))
        fb.merge(parts).write(path)
    result = invoke("compare", new, old, "--fail-if-worse")
    assert result.exit_code == 1
    assert "mine (new) is worse on digits/open-5w5s5q" in result.stderr
    assert "mine (old)" in result.stdout
    assert "pixels/NCC" not in result.stdout
    assert invoke("compare", old, new, "--fail-if-worse").exit_code == 0
    only = invoke("compare", new, old, "--task-set", "open-5w10s7q", "--fail-if-worse")
    assert only.exit_code == 0
    assert "identical" in only.stdout
    one = invoke("compare", new, "pixels/LR", "--task-set", "open-5w5s5q", "--signature").stdout
    assert one.count("#") == 2  # the release and one task set


@pytest.mark.parametrize(
    ("read", "name", "text", "fix"),
    [
        (fb.score, "semi.csv", "method;task;class_ids\na;0;[1, 2]\n", COMMAS),
        (fb.score, "tabs.csv", "method\ttask_set\na\topen\n", COMMAS),
        (fb.score, "x.jsonl", '{"method": "a", "classes": [1], "query_ids": [[1]]}\n', "class_ids"),
        (fb.score, "x.csv", "method,draw,image,class,pred\na,0,0,1,1\n", "image, class, predicted"),
        (fb.reported, "table.csv", "method;result\na;57.6 ± 0.3\n", COMMAS),
    ],
)
def test_the_fix_is_of_the_kind_that_was_meant(read, name, text, fix, tmp_path):
    (path := tmp_path / name).write_text(text)
    with pytest.raises(errors.FSLBenchError) as caught:
        read(path)
    assert fix in str(caught.value.fix)


def test_sizes_of_a_file_that_is_no_log(tmp_path):
    (path := tmp_path / "log.jsonl").write_text('{"method": "a", "classes": [1]}\n')
    said = invoke("score", path, "--class-sizes", "CUB").output
    assert f"class_ids, a column that {path} has not" in " ".join(said.split())


def answers(release, method, task_set=MERGED[0], **about):
    """A method's answers to a task set of digits, which say which tasks they are of."""
    info = release.task_set_info("digits", task_set)
    right = np.random.default_rng(len(method)).integers(0, info.protocol.n_query + 1, info.n_tasks)
    return replace(recorded(info, right, method, **about), package_version="0.1.0")


def rows_of(submission, **more):
    """Columns as a CSV or JSON Lines file has them, with the fingerprint in one."""
    columns = with_fingerprints(submission.table.to_pydict())
    return columns | {name: [value] * len(submission.table) for name, value in more.items()}


def bound(submission, **how):
    return replace(
        submission, bindings={k: replace(b, **how) for k, b in submission.bindings.items()}
    )


def write(path, content):
    if not isinstance(content, fb.Submission):
        return write_columns(path, content)
    content.write(path)
    return path


@pytest.fixture
def files(tmp_path, embedded):
    """Files of every kind, with everything that any of them may say."""
    some = bound(answers(embedded, "some", STOPPED), tasks=20, stopping=Stopping("pixels/LR", 0.9))
    by_class = rows_of(answers(embedded, "counted"))
    by_class["class_correct"] = [
        [min(5, max(0, count - 5 * k)) for k in range(5)] for count in by_class["n_correct"]
    ]
    mine = answers(embedded, "mine", description="ours", link="https://example.org")
    contents = {
        "mine.parquet": replace(mine, package_version="0.2.0"),
        "again.parquet": answers(embedded, "mine", MERGED[1], backbone="net"),
        "first.parquet": replace(some, table=some.table.slice(0, 20)),
        "a.parquet": in_run(answers(embedded, "runs"), "a"),
        "b.parquet": in_run(answers(embedded, "runs"), "b"),
        "rows.csv": rows_of(answers(embedded, "plain")),
        "rows.jsonl": by_class,
        "marked.csv": rows_of(answers(embedded, "together"), transductive=True),
    }
    return [write(tmp_path / name, content) for name, content in contents.items()]


def test_a_merged_file_says_all_that_its_parts_say(files, embedded, tmp_path):
    out = tmp_path / "all.parquet"
    result = invoke("merge", *files, "-o", out)
    assert result.exit_code == 0, result.output
    assert "methods: 6" in result.stderr
    merged, parts = fb.Submission.read(out), [fb.Submission.read(file) for file in files]
    assert merged.bindings == {k: b for part in parts for k, b in part.bindings.items()}
    assert merged.methods["mine"] == Method("mine", "ours", "net", "https://example.org")
    assert set(merged.methods) == {"mine", "some", "runs"}
    assert merged.package_version == "0.2.0, 0.1.0"
    empty = dict.fromkeys(merged.table.column_names)
    expected = [{**empty, **row} for part in parts for row in part.table.to_pylist()]
    assert merged.table.to_pylist() == expected
    together = fb.score(files, embedded, task_sets=[*MERGED, STOPPED])
    again = fb.score(out, embedded, task_sets=[*MERGED, STOPPED])
    assert together.scores == again.scores
    assert [str(c) for c in together.comparisons] == [str(c) for c in again.comparisons]
    own = {score.method: score for score in again.scores if not score.is_reference}
    assert own["runs"].runs == 2
    assert own["together"].transductive
    assert own["some"].stopped is not None
    assert fb.validate(files, embedded).methods == fb.validate(out, embedded).methods
    asked = "SELECT method, max(asked) FROM by_task WHERE method IN ('plain', 'runs') GROUP BY ALL"
    with fb.connect(embedded, files) as connection:  # rows without a run are one run
        assert {*connection.execute(asked).fetchall()} == {("plain", 25), ("runs", 50)}


def test_a_merged_file_is_read_of_a_stranger_too(files, tmp_path):
    path = tmp_path / "all.parquet"
    fb.merge(files).write(path)
    ours, theirs = fb.Submission.read(path), read_untrusted(path)
    assert theirs.table.to_pylist() == ours.table.to_pylist()
    assert (theirs.methods, theirs.bindings) == (ours.methods, ours.bindings)
    fewest = len({(r["method"], r["task_set"], r["run"]) for r in ours.table.to_pylist()})
    read_untrusted(path, limits=replace(Limits(), groups=fewest))
    with pytest.raises(errors.TooLargeError, match=f"has {fewest} combinations"):
        read_untrusted(path, limits=replace(Limits(), groups=fewest - 1))


def test_one_file_stays_as_it_is_and_none_is_refused(files):
    assert fb.merge(files[0]).table.equals(fb.Submission.read(files[0]).table)
    with pytest.raises(errors.SubmissionError, match="nothing to merge"):
        fb.merge([])


DISAGREEMENTS = {
    "the same file": (
        errors.DoubledTaskError,
        "mine answers digits/open-5w5s5q in two",
        lambda s, _: s,
    ),
    "tasks split": (
        errors.DoubledTaskError,
        "in two submissions",
        lambda s, _: rows_of(replace(s, table=s.table.slice(20))),
    ),
    "a run beside none": (
        errors.DoubledTaskError,
        "in two submissions",
        lambda s, _: in_run(s, "a"),
    ),
    "another description": (
        errors.ContradictionError,
        "description is 'ours' and 'theirs'",
        lambda _, r: answers(r, "mine", MERGED[1], description="theirs"),
    ),
    "another mark": (
        errors.ContradictionError,
        "transductive is False and True",
        lambda _, r: answers(r, "mine", MERGED[1], description="ours", transductive=True),
    ),
    "another mark in a column": (
        errors.ContradictionError,
        "transductive is False and True",
        lambda _, r: rows_of(answers(r, "mine", MERGED[1]), transductive=True),
    ),
    "other tasks": (
        errors.FingerprintError,
        "not the same tasks",
        lambda s, _: renamed(bound(s, fingerprint="0" * 64), {"mine": "other"}),
    ),
}


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_what_disagrees_is_refused_and_both_files_are_named(name, embedded, tmp_path):
    error, match, change = DISAGREEMENTS[name]
    mine = answers(embedded, "mine", description="ours")
    content = change(mine, embedded)
    ending = "parquet" if isinstance(content, fb.Submission) else "csv"
    both = [write(tmp_path / "one.parquet", mine), write(tmp_path / f"two.{ending}", content)]
    for order in (both, both[::-1]):
        with pytest.raises(error, match=match if order is both else None) as caught:
            fb.merge(order)
        assert all(file.name in caught.value.where for file in both)
        assert caught.value.fix
    assert invoke("merge", *both, "-o", tmp_path / "out.parquet").exit_code == 2
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("loose", ["column", "number", "rule"])
def test_a_run_does_not_vouch_for_another(loose, embedded, tmp_path):
    one, two = (in_run(answers(embedded, "mine"), run) for run in "ab")
    two = {
        "column": replace(two, bindings={}, methods={}),
        "rule": bound(two, stopping=Stopping("pixels/LR", 0.9)),
        "number": replace(bound(two, tasks=20), table=two.table.slice(0, 20)),
    }[loose]
    files = [write(tmp_path / "one.parquet", one), write(tmp_path / "two.parquet", two)]
    with pytest.raises(errors.ContradictionError, match=r"one.parquet and .*two.parquet"):
        fb.merge(files)


def test_what_is_wrong_in_one_file_is_said_with_its_rows(embedded, tmp_path):
    rows = rows_of(answers(embedded, "bad"))
    rows["n_correct"][4] = 26
    good = write(tmp_path / "good.parquet", answers(embedded, "mine"))
    files = [good, write(tmp_path / "bad.csv", rows)]
    with pytest.raises(errors.CountError, match=r"bad.csv, data row 5 ") as caught:
        fb.validate(files, embedded)
    assert "good" not in str(caught.value)
    with pytest.raises(errors.UnreadableError, match="there is no file"):
        fb.score([files[0], tmp_path / "nowhere.csv"], embedded)


def test_two_methods_however_many_files(embedded, tmp_path):
    """`compare` takes files that hold two methods together, in any division."""
    parts = [answers(embedded, method, s) for s in MERGED for method in ("one", "other")]
    apart = [write(tmp_path / f"{number}.parquet", part) for number, part in enumerate(parts)]
    whole = write(tmp_path / "whole.parquet", fb.merge(apart))
    of_sets = [write(tmp_path / f"set{i}.parquet", fb.merge(parts[i : i + 2])) for i in (0, 2)]
    compared = [
        printed("compare", *names, "--format", "csv")
        for names in ([f"{whole}::one", f"{whole}::other"], [whole], apart, of_sets)
    ]
    assert compared == compared[:1] * 4
    result = invoke("compare", apart[0])
    assert (result.exit_code, "holds 1 method: one" in result.stderr) == (2, True)


def _on_two(embedded):
    """One algorithm on two features, and another method."""
    first = answers(embedded, "near", backbone="pixels", description="nearest mean")
    second = answers(embedded, "near", MERGED[1], backbone="net", description="on a network")
    return [replace(first, source="a"), replace(second, source="b"), answers(embedded, "mine")]


def test_one_name_on_two_features_is_two_methods(embedded, tmp_path):
    parts = _on_two(embedded)
    with pytest.warns(errors.FSLBenchWarning, match="near rests on other features in each of a, b"):
        merged = fb.merge(parts)
    named = dict.fromkeys(merged.table.column("method").to_pylist())
    assert [*named] == ["pixels/near", "net/near", "mine"]
    assert merged.methods["pixels/near"] == Method("pixels/near", "nearest mean", "pixels")
    assert merged.methods["net/near"] == Method("net/near", "on a network", "net")
    bound = {name: bound for (name, *_), bound in merged.bindings.items()}
    assert bound["net/near"] == parts[1].bindings["near", "digits", MERGED[1]]
    without = [name for name in merged.table.column_names if name != "method"]
    rows = [row for part in parts for row in part.table.select(without).to_pylist()]
    assert merged.table.select(without).to_pylist() == rows
    merged.write(tmp_path / "all.parquet")
    assert fb.validate(tmp_path / "all.parquet", embedded).methods == tuple(named)


def test_a_name_is_left_where_nothing_else_is_said_and_given_to_no_other(embedded):
    first, _, other = _on_two(embedded)
    same = answers(embedded, "near", MERGED[1], backbone="pixels")
    silent = answers(embedded, "near", STOPPED)
    assert {*fb.merge([first, same, silent, other]).methods} == {"near", "mine"}
    taken = answers(embedded, "net/near", STOPPED)
    with pytest.raises(errors.ContradictionError, match="backbone is 'pixels' and 'net'") as caught:
        fb.merge([*_on_two(embedded), taken])
    assert "--name pixels/near" in caught.value.fix


def test_names_can_be_exchanged(embedded):
    both = fb.merge([answers(embedded, "one"), answers(embedded, "other")])
    exchanged = renamed(both, {"one": "other", "other": "one"})
    before, after = (some.table.column("method").to_pylist() for some in (both, exchanged))
    assert after == [{"one": "other", "other": "one"}[name] for name in before]
    assert {*exchanged.bindings} == {*both.bindings}
    assert all(about.name == name for name, about in exchanged.methods.items())
