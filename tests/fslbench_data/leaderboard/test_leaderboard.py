"""Leaderboards: a repository's files, which release they answer, refused ones, and the tables."""

import hashlib
import json
import os
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from biased_release import write_biased
from commands import invoke
from flood import fill, measured
from msgspec.structs import replace
from results_repository import KEY, answers, random_counts
from toy_release import toy_release

from benchmark_spec.errors import HubUnreachableError, ResultsError
from fslbench_data.leaderboard import leaderboard as checked
from fslbench_data.leaderboard.leaderboard import Rejected, leaderboard
from fslbench_data.leaderboard.leaderboard import check_submission as check
from fslbench_data.leaderboard.page import leaderboard_page
from fslbench_data.leaderboard.repository import (
    list_submissions,
    parse_board,
    read_board,
    submission_name,
)
from fslbench_data.leaderboard.standing import REFERENCE
from fslbench_data.leaderboard.tables import leaderboard_csv, leaderboard_tables
from fslbench_data.release.release import load_release
from fslbench_data.sandbox.limits import LIMITS
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Method, Submission

REPO, DIGEST = "org/results", "0123456789abcdef" * 4


def _methods(found):
    return {
        board.release: {str(each.scored): [row.method for row in each.rows] for each in board.sets}
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
        sorted((s for s in board.sets if len(s.rows) == 4), key=lambda s: str(s.scored)),
        sorted(report.sets, key=lambda s: str(s.scored)),
        strict=True,
    ):
        own = {row.method: row for row in each.rows}
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
    assert [row.method for row in board.sets[0].rows if row.method == "good"] == ["good"]
    labels = [row.method for row in board.sets[0].rows]
    assert len(set(labels)) == len(labels)
    assert scored + len(found.rejected) == 16
    assert scored >= 8
    assert found.rejected
    # three reference methods answer each of these sets and five others, two the episodes
    assert {len(each.rows) for each in board.sets} == {2, 3, 3 + scored}


@pytest.mark.slow
def test_of_a_submission_only_its_counts_are_held(repository, embedded):
    """Ten thousand fit into memory; with their tables they would not."""
    fill(repository, embedded, good=8, hostile=0)
    found = measured(repository.folder, HELD)
    assert found["accepted"] == ["Accepted"] * 8
    assert 0 < found["held"] / 8 < 10_000, found["held"]


@pytest.fixture
def full(hub, repository, newer):
    """A Hub with a release and submissions to it; and in a folder."""
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


def test_submissions_are_told_by_their_names_alone(repository):
    right = [submission_name(c * 64) for c in "ba0"]
    odd = [
        "a.parquet",
        f"{DIGEST.upper()}.parquet",
        f"{DIGEST}.parquet.exe",
        f"{DIGEST}.parquet\n",
        f"{DIGEST[:-1]}.parquet",
        f"{DIGEST}.csv",
        "\x1b[31mred.parquet",
        "two\nlines.parquet",
        "­soft.parquet",
    ]
    for name in [*right, *(f"submissions/{name}" for name in odd)]:
        (repository.folder / name).write_bytes(b"never read")
    (repository.folder / "submissions/deeper").mkdir()
    (repository.folder / "submissions/deeper" / f"{DIGEST}.parquet").write_bytes(b"never seen")
    (repository.folder / "elsewhere.parquet").write_bytes(b"no matter")
    submissions, ignored = list_submissions(repository.files)
    assert list(submissions) == sorted(right)
    assert len(ignored) == len(odd) + 1
    assert "submissions/deeper/" in ignored
    assert all(name.isprintable() for name in ignored)


def test_a_name_that_is_no_text_can_be_shown(repository):
    folder = os.fsencode(repository.folder / "submissions")
    try:
        Path(os.fsdecode(folder + b"/\xff\xfe.parquet")).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes no such name")
    (ignored,) = list_submissions(repository.files)[1]
    ignored.encode("utf-8")


def test_links_are_not_followed_and_only_regular_files_opened(repository, tmp_path):
    secret = tmp_path / "secret.parquet"
    secret.write_bytes(b"secret")
    name = submission_name(DIGEST)
    (repository.folder / name).symlink_to(secret)
    assert list_submissions(repository.files)[0] == (name,)
    with pytest.raises(ResultsError, match="a symbolic link, which is not followed"):
        repository.files.path(name)
    (repository.folder / "leaderboard.toml").unlink()
    (repository.folder / "leaderboard.toml").symlink_to(secret)
    with pytest.raises(ResultsError, match="symbolic link"):
        read_board(repository.files)
    os.mkfifo(repository.folder / submission_name("0" * 64))  # to read it would wait for ever
    with pytest.raises(ResultsError, match="no file"):
        repository.files.path(submission_name("0" * 64))
    (repository.folder / "submissions").rename(tmp_path / "real")
    (repository.folder / "submissions").symlink_to(tmp_path / "real")
    with pytest.raises(ResultsError, match="symbolic link or no folder"):
        repository.files.names()


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../b", "", ".", "submissions//x", "a\\b", "a\0b", "gone"]
)
def test_paths_stay_inside(repository, name):
    with pytest.raises(ResultsError):
        repository.files.path(name)


def test_settings(repository):
    text = 'title = "Ünser \\"Brett\\""\nreleases = ["a/b@v1.0.0", "embedded"]'
    (repository.folder / "leaderboard.toml").write_text(text, encoding="utf-8")
    found = read_board(repository.files)
    assert (found.title, found.releases) == ('Ünser "Brett"', ("a/b@v1.0.0", "embedded"))
    with pytest.raises(ResultsError, match="not TOML"):
        parse_board(b"\xff\xfe", "here")


@pytest.mark.parametrize(
    "revision", ["main", "refs/pr/1", "v1.0", "v01.0.0", "v1.0.0rc1", "1.0.0", "abcdef1", "0A" * 20]
)
def test_releases_that_move_are_refused(revision):
    with pytest.raises(ResultsError, match="can come to name other tasks") as error:
        parse_board(f'releases = ["org/small@{revision}"]'.encode(), "here")
    assert f"org/small@{revision}" in error.value.what


def test_releases_that_stay_are_taken():
    for fixed in ("v1.0.0", "0123456789abcdef" * 2 + "01234567"):
        name = f"org/small@{fixed}"
        assert parse_board(f'releases = ["{name}"]'.encode(), "x").releases == (name,)
    with pytest.raises(ResultsError, match=r"name a version: org/small@v1\.0\.0"):
        parse_board(b'releases = ["org/small"]', "here")


def _rejected(found):
    assert isinstance(found, Rejected), found
    for text in (found.name, found.what, found.where, found.expected, found.fix, found.reason):
        assert text.isprintable()
        assert len(text) <= 300
    return found


def test_a_rule_that_is_broken_is_broken_though_another_release_has_it_not(
    repository, embedded, newer
):
    """A name that the newest release's reference has is no reason to score it on an older one."""
    name = repository.add(answers(embedded, {"digits/open-5w5s5q": [3] * 31}, "pixels/LR"))
    found = _rejected(check(repository.files, name, [embedded, newer]))
    assert "reference method" in found.what
    assert "LR" in found.expected
    part = repository.add(answers(newer, {KEY: [1, 2]}))
    assert "tasks are missing" in _rejected(check(repository.files, part, [embedded, newer])).what


def test_half_of_one_release_and_half_of_another(repository, newer, older):
    other = answers(newer, {KEY: random_counts(newer)}, "a")
    one = answers(older, {KEY: random_counts(older)}, "b")
    both = Submission(
        pa.concat_tables([one.table, other.table]),
        {**one.methods, **other.methods},
        {**one.bindings, **other.bindings},
    )
    _rejected(check(repository.files, repository.add(both), [newer, older]))


def test_fingerprints_in_a_column(repository, newer, older):
    info = older.task_set_info(*KEY.split("/"))
    table = answers(older, {KEY: [1] * info.n_tasks}).table
    prints = pa.array([info.fingerprint[:12]] * info.n_tasks)
    name = repository.add(Submission(table.append_column("fingerprint", prints)))
    assert check(repository.files, name, [newer, older]).release == 1
    found = _rejected(check(repository.files, repository.add(Submission(table)), [older, newer]))
    assert "does not say which tasks" in found.what


def test_a_large_file_is_not_read(repository, newer):
    name = f"submissions/{'2' * 64}.parquet"
    with (repository.folder / name).open("wb") as file:
        file.truncate(10 << 30)  # a hole
    assert "bytes" in _rejected(check(repository.files, name, [newer])).what


def test_what_nobody_thought_of_is_a_refusal_too(repository, newer, monkeypatch):
    name = repository.add(answers(newer, {KEY: random_counts(newer)}))
    monkeypatch.setattr(checked, "validate", Mock(side_effect=RuntimeError("oh\x1b[31m")))
    assert "cannot be checked" in _rejected(check(repository.files, name, [newer])).what


def test_a_hub_that_does_not_answer_refuses_nobody(newer):
    away = Mock(where="a/b", path=Mock(side_effect=HubUnreachableError("away")))
    with pytest.raises(HubUnreachableError):
        check(away, f"submissions/{'0' * 64}.parquet", [newer])


def test_marks_and_names_are_of_the_content_and_descriptions_are_not(repository, newer):
    one = answers(newer, {KEY: random_counts(newer)})
    described = replace(one, methods={"mine": Method("mine", link="https://example.org")})
    marked = answers(newer, {KEY: random_counts(newer)}, transductive=True)
    other = answers(newer, {KEY: random_counts(newer)}, "other")
    names = [repository.add(each) for each in (one, described, marked, other)]
    found = [check(repository.files, name, [newer]) for name in names]
    assert len({each.digest for each in found}) == 4
    assert found[0].content == found[1].content
    assert len({each.content for each in found}) == 3
