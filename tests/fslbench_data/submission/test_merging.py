"""Several files of results as one: nothing that they say is lost, and what disagrees is refused."""

import numpy as np
import pytest
from commands import invoke, printed
from golden_inputs import with_fingerprints, write_columns
from msgspec.structs import replace
from recorded import in_run, recorded

import fslbench_data as fb
from benchmark_spec.errors import (
    ContradictionError,
    CountError,
    DoubledTaskError,
    FingerprintError,
    FSLBenchWarning,
    SubmissionError,
    TooLargeError,
    UnreadableError,
)
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.sandbox.limits import Limits
from fslbench_data.submission.bindings import Method, Stopping
from fslbench_data.submission.merging import renamed
from fslbench_data.submission.model import Submission

SETS = ("open-5w5s5q", "open-5w1s1q")
STOPPED = "closed-5w1s1q"


def answers(release, method, task_set=SETS[0], **about):
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
    if not isinstance(content, Submission):
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
        "again.parquet": answers(embedded, "mine", SETS[1], backbone="net"),
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
    merged, parts = Submission.read(out), [Submission.read(file) for file in files]
    assert merged.bindings == {k: b for part in parts for k, b in part.bindings.items()}
    assert merged.methods["mine"] == Method("mine", "ours", "net", "https://example.org")
    assert set(merged.methods) == {"mine", "some", "runs"}
    assert merged.package_version == "0.2.0, 0.1.0"
    names = merged.table.column_names
    empty = dict.fromkeys(names)
    expected = [{**empty, **row} for part in parts for row in part.table.to_pylist()]
    assert merged.table.to_pylist() == expected
    together = fb.score(files, embedded, task_sets=[*SETS, STOPPED])
    again = fb.score(out, embedded, task_sets=[*SETS, STOPPED])
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
    """Where some rows have a run and others none, groups are counted as they are."""
    path = tmp_path / "all.parquet"
    fb.merge(files).write(path)
    ours, theirs = Submission.read(path), read_untrusted(path)
    assert theirs.table.to_pylist() == ours.table.to_pylist()
    assert (theirs.methods, theirs.bindings) == (ours.methods, ours.bindings)
    fewest = len({(r["method"], r["task_set"], r["run"]) for r in ours.table.to_pylist()})
    read_untrusted(path, limits=replace(Limits(), groups=fewest))
    with pytest.raises(TooLargeError, match=f"has {fewest} combinations"):
        read_untrusted(path, limits=replace(Limits(), groups=fewest - 1))


def test_one_file_stays_as_it_is_and_none_is_refused(files):
    alone = fb.merge(files[0])
    assert alone.table.equals(Submission.read(files[0]).table)
    with pytest.raises(SubmissionError, match="nothing to merge"):
        fb.merge([])


DISAGREEMENTS = {
    "the same file": (DoubledTaskError, "mine answers digits/open-5w5s5q in two", lambda s, _: s),
    "tasks split": (
        DoubledTaskError,
        "in two submissions",
        lambda s, _: rows_of(replace(s, table=s.table.slice(20))),
    ),
    "a run beside none": (DoubledTaskError, "in two submissions", lambda s, _: in_run(s, "a")),
    "another description": (
        ContradictionError,
        "description is 'ours' and 'theirs'",
        lambda _, r: answers(r, "mine", SETS[1], description="theirs"),
    ),
    "another mark": (
        ContradictionError,
        "transductive is False and True",
        lambda _, r: answers(r, "mine", SETS[1], description="ours", transductive=True),
    ),
    "another mark in a column": (
        ContradictionError,
        "transductive is False and True",
        lambda _, r: rows_of(answers(r, "mine", SETS[1]), transductive=True),
    ),
    "other tasks": (
        FingerprintError,
        "not the same tasks",
        lambda s, _: renamed(bound(s, fingerprint="0" * 64), {"mine": "other"}),
    ),
}


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_what_disagrees_is_refused_and_both_files_are_named(name, embedded, tmp_path):
    error, match, change = DISAGREEMENTS[name]
    mine = answers(embedded, "mine", description="ours")
    content = change(mine, embedded)
    ending = "parquet" if isinstance(content, Submission) else "csv"
    both = [write(tmp_path / "one.parquet", mine), write(tmp_path / f"two.{ending}", content)]
    for order in (both, both[::-1]):
        with pytest.raises(error, match=match if order is both else None) as caught:
            fb.merge(order)
        assert all(file.name in caught.value.where for file in both)
        assert caught.value.fix
    result = invoke("merge", *both, "-o", tmp_path / "out.parquet")
    assert result.exit_code == 2
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
    with pytest.raises(ContradictionError, match=r"one.parquet and .*two.parquet"):
        fb.merge(files)


def test_what_is_wrong_in_one_file_is_said_with_its_rows(embedded, tmp_path):
    rows = rows_of(answers(embedded, "bad"))
    rows["n_correct"][4] = 26
    good = write(tmp_path / "good.parquet", answers(embedded, "mine"))
    files = [good, write(tmp_path / "bad.csv", rows)]
    with pytest.raises(CountError, match=r"bad.csv, data row 5 ") as caught:
        fb.validate(files, embedded)
    assert "good" not in str(caught.value)
    with pytest.raises(UnreadableError, match="there is no file"):
        fb.score([files[0], tmp_path / "nowhere.csv"], embedded)


def test_two_methods_however_many_files(embedded, tmp_path):
    """`compare` takes files that hold two methods together, in any division."""
    parts = [answers(embedded, method, s) for s in SETS for method in ("one", "other")]
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
    second = answers(embedded, "near", SETS[1], backbone="net", description="on a network")
    return [replace(first, source="a"), replace(second, source="b"), answers(embedded, "mine")]


def test_one_name_on_two_features_is_two_methods(embedded, tmp_path):
    parts = _on_two(embedded)
    with pytest.warns(FSLBenchWarning, match="near rests on other features in each of a, b"):
        merged = fb.merge(parts)
    named = dict.fromkeys(merged.table.column("method").to_pylist())
    assert [*named] == ["pixels/near", "net/near", "mine"]
    assert merged.methods["pixels/near"] == Method("pixels/near", "nearest mean", "pixels")
    assert merged.methods["net/near"] == Method("net/near", "on a network", "net")
    bound = {name: bound for (name, *_), bound in merged.bindings.items()}
    assert bound["net/near"] == parts[1].bindings["near", "digits", SETS[1]]
    without = [name for name in merged.table.column_names if name != "method"]
    rows = [row for part in parts for row in part.table.select(without).to_pylist()]
    assert merged.table.select(without).to_pylist() == rows
    merged.write(tmp_path / "all.parquet")
    assert fb.validate(tmp_path / "all.parquet", embedded).methods == tuple(named)


def test_a_name_is_left_where_nothing_else_is_said_and_given_to_no_other(embedded):
    first, _, other = _on_two(embedded)
    same = answers(embedded, "near", SETS[1], backbone="pixels")
    silent = answers(embedded, "near", STOPPED)
    assert {*fb.merge([first, same, silent, other]).methods} == {"near", "mine"}
    taken = answers(embedded, "net/near", STOPPED)
    with pytest.raises(ContradictionError, match="backbone is 'pixels' and 'net'") as caught:
        fb.merge([*_on_two(embedded), taken])
    assert "--name pixels/near" in caught.value.fix


def test_names_can_be_exchanged(embedded):
    both = fb.merge([answers(embedded, "one"), answers(embedded, "other")])
    exchanged = renamed(both, {"one": "other", "other": "one"})
    before, after = (some.table.column("method").to_pylist() for some in (both, exchanged))
    assert after == [{"one": "other", "other": "one"}[name] for name in before]
    assert {*exchanged.bindings} == {*both.bindings}
    assert all(about.name == name for name, about in exchanged.methods.items())
