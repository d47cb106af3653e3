"""Whole leaderboards: releases, names and files apart, and nothing that spoils it for others."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pytest
from biased_release import write_biased
from commands import invoke
from flood import fill, measured
from msgspec.structs import replace
from results_repository import KEY, answers, random_counts
from toy_release import toy_release

from benchmark_spec.errors import ResultsError
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.page import leaderboard_page, sentences, suites_of
from fslbench_data.leaderboard.standing import REFERENCE
from fslbench_data.leaderboard.tables import leaderboard_csv, leaderboard_tables
from fslbench_data.release.release import load_release
from fslbench_data.sandbox.limits import LIMITS
from fslbench_data.scoring.score import score


def _methods(found):
    return {
        board.release: {
            str(each.scored): [row.method for row in each.rows()] for each in board.sets
        }
        for board in found.boards
    }


def test_the_embedded_release_s_references_stand_beside(repository, example, embedded):
    name = repository.add(example)
    found = leaderboard(repository.files, [embedded], datasets="digits", title="T")
    (board,) = found.boards
    assert board.submissions == (name[12:76],)
    # a board takes nobody's word for it that a method is inductive, and treats references alike
    counts = example.table.drop_columns(["predictions", "class_correct"])
    report = score(replace(example, table=counts), embedded)
    for each, of_score in zip(
        sorted((s for s in board.sets if len(s) == 4), key=lambda s: str(s.scored)),
        sorted(report.sets, key=lambda s: str(s.scored)),
        strict=True,
    ):
        own = {row.method: row for row in each.rows()}
        assert len(own) == 4
        for s in of_score.scores:
            ranked = own[s.method].intervals
            if not s.is_reference:
                assert {kind: of.accuracy for kind, of in ranked.items()} == s.intervals
            assert (own[s.method].entry.source == REFERENCE) == s.is_reference
        for c in of_score.comparisons:
            if c.versus == each.leader:
                row = own[c.method]
                behind = {kind: of.difference for kind, of in row.intervals.items()}
                assert behind == {kind: pair.difference for kind, pair in c.intervals.items()}
    digest = hashlib.sha256(f"{name[12:76]}\n".encode()).hexdigest()
    assert found.signature == str(board)
    assert found.signature.endswith(f"|submissions:1#{digest[:12]}")


def test_a_release_of_as_few_classes_as_a_task_has(repository, tmp_path):
    release = toy_release(tmp_path / "two", {"cats": [30, 30]}, {"open": None})
    repository.add(answers(release, {KEY: random_counts(release)}))
    found = leaderboard(repository.files, [release])
    assert found.boards[0].sets[0].claiming == ("open",)
    ((table, _),) = leaderboard_tables(found)
    assert [column.heading for column in table.columns][-2:] == ["could be best", "from"]
    assert "for new classes" not in table.notes[0]
    assert table.notes[1] == "No interval for new classes (all tasks have the same classes)."
    (of_suite,) = suites_of(found.boards[0])
    assert sentences(of_suite)[0].endswith("for new classes not judged.")


def test_an_older_release_s_results_have_a_table_of_their_own(repository, newer, older):
    dogs = "dogs/open-2w1s2q"
    many = [4] * len(random_counts(newer, dogs))
    repository.add(answers(newer, {KEY: random_counts(newer)}, "new"))
    repository.add(answers(older, {KEY: [1] * len(random_counts(older))}, "old"))
    repository.add(answers(older, {KEY: [2] * len(random_counts(older)), dogs: many}, "also old"))
    repository.add(answers(older, {dogs: [3] * len(many)}, "either"))
    both = leaderboard(repository.files, [newer, older])
    assert _methods(both) == {
        "toy@2.0.0": {KEY: ["new"], dogs: ["either"]},
        "toy@1.0.0": {KEY: ["also old", "old"], dogs: ["also old"]},
    }
    assert both.signature.count("fslbench:") == 2
    assert " + " in both.signature
    only = leaderboard(repository.files, [newer])
    assert _methods(only) == {"toy@2.0.0": {KEY: ["new"], dogs: ["either"]}}
    assert len(only.rejected) == 2
    swapped = leaderboard(repository.files, [older, newer])
    assert _methods(swapped)["toy@1.0.0"][dogs] == ["also old", "either"]


def test_task_sets_with_attributes_are_named_where_they_are_left_out(repository, tmp_path):
    write_biased(tmp_path / "biased", ["random_words"])
    release, key = load_release(tmp_path / "biased"), "things/random_words-3w2s3q"
    repository.add(answers(release, {key: [5] * 15}))
    assert leaderboard(repository.files, [release]).left_out == (key,)
    assert leaderboard(repository.files, [release], task_sets=key[7:]).left_out == ()
    where = ["--results", str(repository.folder), "--release", str(tmp_path / "biased")]
    text = f"ot shown, made with attributes of images: {key}; --task-set chooses"
    assert invoke("leaderboard", *where).stderr == f"n{text}\n"
    assert f"N{text}." in leaderboard_page(leaderboard(repository.files, [release]))
    written = invoke("leaderboard", *where, "--format", "markdown").stdout
    assert f"N{text}." in written.replace(r"\_", "_")
    assert json.loads(invoke("leaderboard", *where, "--format", "json").stdout)["left_out"] == [key]
    chosen = leaderboard(repository.files, [release], task_sets=key[7:])
    assert "ot shown" not in leaderboard_page(chosen)


def test_hostile_files_change_nothing_for_the_others(repository, newer):
    repository.add(answers(newer, {KEY: random_counts(newer)}, "good"))
    alone = leaderboard(repository.files, [newer])
    for junk in (b"", b"PAR1junkPAR1", b"\x1b[31m"):
        repository.add_bytes(junk)
    best = answers(newer, {KEY: [4] * len(random_counts(newer))}, "too good")
    at, wrong = best.table.column_names.index("n_correct"), pa.array([5] * len(best.table))
    repository.add(replace(best, table=best.table.set_column(at, "n_correct", wrong)))
    (repository.folder / "submissions" / "\x1b[31m\n.parquet").write_bytes(b"")
    (repository.folder / "submissions" / f"{'e' * 64}.parquet").symlink_to("/etc/passwd")
    found = leaderboard(repository.files, [newer])
    assert (len(found.rejected), len(found.ignored)) == (5, 1)
    assert str(repository.folder) not in repr(found.rejected)  # where a file lies is not told
    assert found.signature == alone.signature
    assert leaderboard_csv(found) == leaderboard_csv(alone)


def test_nothing_yet(repository, newer):
    (repository.folder / "submissions").rmdir()
    said = []
    assert leaderboard(repository.files, [newer], progress=said.append).boards[0].sets == ()
    assert said == []
    (repository.folder / "submissions").mkdir()
    repository.add(answers(newer, {KEY: random_counts(newer)}))
    leaderboard(repository.files, [newer], progress=said.append)
    assert said == ["submission 1 of 1", KEY]
    with pytest.raises(ResultsError, match="no release"):
        leaderboard(repository.files, [])


# ---- many submissions at once, half of them spoilt -----------------------------------------------


HELD = """
import gc, json, sys, tracemalloc
import pyarrow as pa
from fslbench_data.leaderboard.leaderboard import check_submission
from fslbench_data.leaderboard.repository import FolderFiles
from fslbench_data.leaderboard.repository import list_submissions
from fslbench_data.release.release import load_release

files, releases = FolderFiles(sys.argv[1]), [load_release()]
names = list_submissions(files)[0]
check_submission(files, names[0], releases)  # what is made once
gc.collect()
tracemalloc.start()
before = pa.total_allocated_bytes()
kept = [check_submission(files, name, releases) for name in names]
gc.collect()
held = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before
print(json.dumps({"accepted": [type(one).__name__ for one in kept], "held": held}))
"""
"""Prints how many bytes submissions take once they are checked."""


@pytest.mark.slow
def test_a_flood(repository, embedded):
    fill(repository, embedded, good=8, hostile=8)
    found = leaderboard(repository.files, [embedded], datasets="digits")
    board = found.boards[0]
    scored = len(board.submissions)
    assert [row.method for row in board.sets[0].rows() if row.method == "good"] == ["good"]
    labels = [row.method for row in board.sets[0].rows()]
    assert len(set(labels)) == len(labels)
    assert scored + len(found.rejected) == 16
    assert scored >= 8
    assert found.rejected
    # three reference methods answer each of these sets and five others, two the episodes
    assert {len(each) for each in board.sets} == {2, 3, 3 + scored}


@pytest.mark.slow
def test_of_a_submission_only_its_counts_are_held(repository, embedded):
    """Ten thousand fit into memory; with their tables they would not."""
    fill(repository, embedded, good=8, hostile=0)
    found = measured(repository.folder, HELD)
    assert found["accepted"] == ["Accepted"] * 8
    assert 0 < found["held"] / 8 < 10_000, found["held"]


REPO = "org/results"


@pytest.fixture
def full(hub, repository, newer, monkeypatch):
    """A Hub with a release and submissions to it, too many for one by one; and in a folder."""
    monkeypatch.setattr("fslbench_data.leaderboard.repository._ONE_BY_ONE", 4)
    hub.create_repo("org/toy", files=Path(newer.files.where))
    hub.tag("org/toy", "v2.0.0")
    (repository.folder / "leaderboard.toml").write_text('releases = ["org/toy@v2.0.0"]')
    for number in range(4):
        repository.add(answers(newer, {KEY: random_counts(newer, seed=number)}, f"m {number}"))
    (repository.folder / "draft.parquet").unlink()
    hub.create_repo(REPO, files=repository.folder)
    return hub, repository


@pytest.mark.slow
def test_as_of_a_checkout(full):
    hub, repository = full
    for form in ("table", "json"):
        of_hub = invoke("leaderboard", "--results", REPO, "--format", form)
        of_folder = invoke("leaderboard", "--results", repository.folder, "--format", form)
        assert of_hub.exit_code == 0, of_hub.output
        assert of_hub.output == of_folder.output
    content = json.loads(of_hub.stdout)
    (board,) = content["boards"]
    assert [len(each["rows"]) for each in board["sets"]] == [4]
    assert hub.sha("org/toy")[:12] in content["signature"]["text"]
    hub.requests.clear()
    assert invoke("leaderboard", "--results", REPO, "--check").exit_code == 0
    assert not hub.seen(r"/cdn/", "GET")  # all of it lies in the cache


@pytest.mark.slow
def test_bad_ones_are_refused_and_large_ones_not_fetched(full):
    hub, _ = full
    large = bytes(LIMITS.file_bytes + 1)
    digest = hashlib.sha256(large).hexdigest()
    odd = ["submissions/[a-z]*.parquet", f"submissions/deeper/{'1' * 64}.parquet"]
    wrong = f"submissions/{'0' * 64}.parquet"
    added = {f"submissions/{digest}.parquet": large, wrong: b"junk"}
    hub.commit(REPO, added | dict.fromkeys(odd, b"junk"))
    hub.requests.clear()
    found = json.loads(invoke("leaderboard", "--results", REPO, "--format", "json").stdout)
    assert [len(each["rows"]) for each in found["boards"][0]["sets"]] == [4]
    said = {each["name"]: each["what"] for each in found["refused"]}
    assert said.pop(wrong) == "its name is not the SHA-256 of its bytes"
    assert f"{len(large):,} bytes" in said.pop(f"submissions/{digest}.parquet")
    assert not said
    assert sorted(each["name"] for each in found["ignored"]) == odd
    assert not hub.seen(digest)
    assert invoke("leaderboard", "--results", REPO, "--check").exit_code == 1
