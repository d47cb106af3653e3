"""The layout of a results repository, which release a submission answers, and refused files."""

import os
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from msgspec.structs import replace
from results_repository import KEY, answers, random_counts

from benchmark_spec.errors import HubUnreachableError, ResultsError
from fslbench_data.leaderboard import leaderboard as checked
from fslbench_data.leaderboard.leaderboard import Rejected
from fslbench_data.leaderboard.leaderboard import check_submission as check
from fslbench_data.leaderboard.repository import (
    list_submissions,
    parse_board,
    read_board,
    submission_name,
)
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission

DIGEST = "0123456789abcdef" * 4


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
    submissions, left_out = list_submissions(repository.files)
    assert list(submissions) == sorted(right)
    ignored = [each.name for each in left_out]
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
    ignored.name.encode("utf-8")


def test_links_are_not_followed_and_only_regular_files_opened(repository, tmp_path):
    secret = tmp_path / "secret.parquet"
    secret.write_bytes(b"secret")
    name = submission_name(DIGEST)
    (repository.folder / name).symlink_to(secret)
    assert list_submissions(repository.files)[0] == (name,)
    with pytest.raises(ResultsError, match="a symbolic link, which is not followed"):
        repository.files.path(name)
    other = repository.folder / "outside"
    other.symlink_to(tmp_path)
    with pytest.raises(ResultsError, match="behind a symbolic link"):
        repository.files.path("outside/secret.parquet")
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


# ---- which release a submission answers ----------------------------------------------------------


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
    key = "digits/open-5w5s5q"
    name = repository.add(answers(embedded, {key: [3] * 31}, "pixels/LR"))
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
    unbound = repository.add(Submission(table))
    found = _rejected(check(repository.files, unbound, [older, newer]))
    assert "does not say which tasks" in found.what


def test_a_large_file_is_not_read(repository, newer):
    name = f"submissions/{'2' * 64}.parquet"
    with (repository.folder / name).open("wb") as file:
        file.truncate(10 << 30)  # a hole
    found = _rejected(check(repository.files, name, [newer]))
    assert "bytes" in found.what


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
