"""The layout of a results repository, and files that are not what they seem."""

import os
from pathlib import Path

import pytest
from results_repository import Repository

from benchmark_spec.errors import ResultsError
from fslbench_data.leaderboard.repository import (
    list_submissions,
    parse_board,
    read_board,
    submission_name,
)

DIGEST = "0123456789abcdef" * 4


def test_submissions_are_told_by_their_names_alone(repository: Repository) -> None:
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


def test_a_name_that_is_no_text_can_be_shown(repository: Repository) -> None:
    folder = os.fsencode(repository.folder / "submissions")
    try:
        Path(os.fsdecode(folder + b"/\xff\xfe.parquet")).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes no such name")
    (ignored,) = list_submissions(repository.files)[1]
    ignored.name.encode("utf-8")


def test_links_are_not_followed_and_only_regular_files_opened(
    repository: Repository, tmp_path: Path
) -> None:
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
def test_paths_stay_inside(repository: Repository, name: str) -> None:
    with pytest.raises(ResultsError):
        repository.files.path(name)


def test_settings(repository: Repository) -> None:
    text = 'title = "Ünser \\"Brett\\""\nreleases = ["a/b@v1.0.0", "embedded"]'
    (repository.folder / "leaderboard.toml").write_text(text, encoding="utf-8")
    found = read_board(repository.files)
    assert (found.title, found.releases) == ('Ünser "Brett"', ("a/b@v1.0.0", "embedded"))
    with pytest.raises(ResultsError, match="not TOML"):
        parse_board(b"\xff\xfe", "here")


@pytest.mark.parametrize(
    "revision",
    ["main", "refs/pr/1", "v1.0", "v01.0.0", "v1.0.0rc1", "1.0.0", "abcdef1", "0A" * 20],
)
def test_releases_that_move_are_refused(revision: str) -> None:
    with pytest.raises(ResultsError, match="can come to name other tasks") as error:
        parse_board(f'releases = ["org/small@{revision}"]'.encode(), "here")
    assert f"org/small@{revision}" in error.value.what


def test_releases_that_stay_are_taken() -> None:
    for fixed in ("v1.0.0", "0123456789abcdef" * 2 + "01234567"):
        name = f"org/small@{fixed}"
        assert parse_board(f'releases = ["{name}"]'.encode(), "x").releases == (name,)
    with pytest.raises(ResultsError, match=r"name a version: org/small@v1\.0\.0"):
        parse_board(b'releases = ["org/small"]', "here")
