"""A new results repository, and its workflow: its steps are run on pull requests of a clone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hub_server import HubServer
from results_repository import Repository

from benchmark_spec.errors import (
    FSLBenchError,
    HubError,
    HubNotFoundError,
    OutputError,
    ResultsError,
)
from benchmark_spec.version import __version__
from builders.cli import main
from builders.hub.results_repo import WORKFLOW, start_results_repository
from fslbench_data.leaderboard.folder_files import FolderFiles
from fslbench_data.leaderboard.repository import read_board
from fslbench_data.release.release import Release


@pytest.fixture
def on_hub(hub: HubServer, toy: Release) -> HubServer:
    """A Hub with the toy release."""
    hub.create_repo("org/toy", files=Path(toy.files.where))
    hub.tag("org/toy", "v1.0.0")
    return hub


def test_the_files(tmp_path: Path, on_hub: HubServer) -> None:
    title = 'A "title" \\ with $signs and @RELEASES@'
    made = start_results_repository(tmp_path / "new", ["org/toy@v1.0.0", "embedded"], title)
    assert [str(path.relative_to(tmp_path / "new")) for path in made] == [
        "leaderboard.toml",
        "README.md",
        WORKFLOW,
    ]
    found = read_board(FolderFiles(tmp_path / "new"))
    assert (found.title, found.releases) == (title, ("org/toy@v1.0.0", "embedded"))
    readme = made[1].read_text(encoding="utf-8")
    assert readme.startswith(f"# {title}\n")
    assert "fslbench submit my_results.parquet --to ORG/RESULTS" in readme
    for command in ("evaluate", "score"):
        assert re.search(
            rf"fslbench {command} .* --release org/toy@v1\.0\.0$", readme, re.MULTILINE
        )
    assert "@RELEASE@" not in readme
    assert "@VERSION@" not in made[2].read_text(encoding="utf-8")


def test_releases_are_opened_first(tmp_path: Path, on_hub: HubServer) -> None:
    folder = tmp_path / "new"
    for name in ("org/toy@v9.9.9", "org/gone@v1.0.0"):
        with pytest.raises(HubNotFoundError):
            start_results_repository(folder, ["org/toy@v1.0.0", name])
    on_hub.create_repo("org/empty", files={"README.md": b"no release"})
    on_hub.tag("org/empty", "v1.0.0")
    with pytest.raises(FSLBenchError):
        start_results_repository(folder, ["org/empty@v1.0.0"])
    assert not folder.exists()
    commit = on_hub.sha("org/toy")
    made = start_results_repository(folder, [f"org/toy@{commit}"])
    assert f"--release org/toy@{commit}\n" in made[1].read_text(encoding="utf-8")


def test_a_hub_that_cannot_be_reached(tmp_path: Path, on_hub: HubServer) -> None:
    with on_hub.offline(), pytest.raises(HubError):
        start_results_repository(tmp_path / "new", ["org/toy@v1.0.0"])
    assert not (tmp_path / "new").exists()


def test_a_release_needs_a_version(tmp_path: Path) -> None:
    for name, said in (
        ("org/small", "name a version: org/small@v1.0.0"),
        ("org/small@main", "org/small@main can come to name other tasks"),
        ("org/small@refs/pr/1", "org/small@refs/pr/1 can come to name other tasks"),
    ):
        result = CliRunner().invoke(
            main, ["results-repo", str(tmp_path / "new"), "--release", name]
        )
        assert result.exit_code == 2
        assert said in result.stderr
        assert "leaderboard.toml" not in result.stderr
        assert not (tmp_path / "new").exists()
    result = CliRunner().invoke(
        main, ["results-repo", str(tmp_path / "new"), "--release", "org/small"]
    )
    assert result.stderr == "Error: name a version: org/small@v1.0.0\n"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(OutputError, match="is there already"):
        start_results_repository(tmp_path, ["embedded"])
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    with pytest.raises(OutputError, match="cannot write"):
        start_results_repository(tmp_path / "README.md" / "below", ["embedded"])


@pytest.mark.parametrize(
    ("releases", "title"),
    [(["/tmp/release"], "T"), ([], "T"), (["embedded"], "a\nb"), (["embedded"], "\x1b[31m")],
)
def test_what_nobody_could_read_is_not_written(
    tmp_path: Path, releases: list[str], title: str
) -> None:
    with pytest.raises(ResultsError):
        start_results_repository(tmp_path / "new", releases, title)
    assert not (tmp_path / "new").exists()


def test_the_command(tmp_path: Path) -> None:
    arguments = ["results-repo", str(tmp_path / "new"), "--release", "embedded", "--title", "T"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert result.stderr.count("wrote ") == 3
    assert CliRunner().invoke(main, arguments).exit_code == 2
    assert CliRunner().invoke(main, ["results-repo", str(tmp_path)]).exit_code == 2


def test_the_example_was_made_so(root: Path, tmp_path: Path) -> None:
    made = start_results_repository(tmp_path, ["embedded"], "Digits, from pixels")
    for path in made:
        shown = root / "examples/results" / path.relative_to(tmp_path)
        assert shown.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


class Clone:
    """A results repository under git, pull requests on it, and a runner of the workflow's steps."""

    def __init__(self, folder: Path, accepted: bytes) -> None:
        self.folder = folder
        self.origin = folder / "origin"
        start_results_repository(self.origin, ["embedded"])
        self.git("init", "--quiet", "--initial-branch", "main")
        (self.origin / "submissions").mkdir()
        Repository.add_bytes(self._as_repository(), accepted)
        self.commit("accepted")
        (folder / "bin").mkdir()
        command = folder / "bin/fslbench"
        code = "from fslbench_data.cli import main; main()"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
        command.chmod(0o755)

    def _as_repository(self) -> Repository:
        made = Repository.__new__(Repository)
        made.folder = self.origin
        return made

    def add(self, content: bytes) -> str:
        return self._as_repository().add_bytes(content)

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        out = subprocess.run(
            ["git", *who, *arguments], cwd=self.origin, check=True, capture_output=True, text=True
        )
        return out.stdout

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def check(self) -> tuple[int, str]:
        """Merge what is not committed as a pull request; run the steps; exit code and summary."""
        self.git("checkout", "--quiet", "-b", "theirs")
        self.commit("theirs")
        self.git("checkout", "--quiet", "main")
        (self.origin / "MEANWHILE.md").write_text("main has moved on")
        self.commit("meanwhile")
        self.git("merge", "--quiet", "--no-ff", "-m", "merged", "theirs")
        work = self.folder / "work"
        work.mkdir()
        source = f"file://{self.origin}"
        subprocess.run(
            ["git", "clone", "--quiet", "--depth", "2", source, str(work / "proposed")],
            check=True,
            capture_output=True,
        )
        summary = self.folder / "summary.md"
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
        failed = 0
        for step in _steps(self.origin / WORKFLOW):
            if "run" not in step or step.get("name") == "Install":
                continue
            if failed and step.get("if") != "always()":
                continue
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
            )
            failed = failed or done.returncode
            # a line of the log that begins so would be a command to the runner
            assert not any(line.startswith("::") for line in done.stdout.splitlines())
            assert not any(line.startswith("::") for line in done.stderr.splitlines())
        return failed, summary.read_text(encoding="utf-8") if summary.exists() else ""


def _steps(path: Path) -> list[dict[str, str]]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return list(content["jobs"]["validate"]["steps"])


@pytest.fixture
def clone(tmp_path: Path, root: Path) -> Clone:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    (accepted, *_) = sorted((root / "examples/results/submissions").iterdir())
    return Clone(tmp_path, accepted.read_bytes())


def test_the_workflow_has_no_more_rights_than_it_needs(tmp_path: Path) -> None:
    start_results_repository(tmp_path, ["embedded"])
    text = (tmp_path / WORKFLOW).read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert content[True] == "pull_request"  # YAML reads `on` so
    assert content["permissions"] == {"contents": "read"}
    assert "secrets" not in text.replace("no secrets", "")
    steps = _steps(tmp_path / WORKFLOW)
    (checkout,) = (step for step in steps if "checkout" in step.get("uses", ""))
    assert checkout["with"]["persist-credentials"] is False  # type: ignore[index]
    # nothing that strangers choose is ever part of a command
    assert all("${{" not in step.get("run", "") for step in steps)
    assert f"fslbench=={__version__}" in text


def test_a_good_submission(clone: Clone, root: Path) -> None:
    name = clone.add((root / "examples/my_results.parquet").read_bytes())
    code, summary = clone.check()
    assert code == 0
    assert "**1 file: every rule is met.**" in summary
    assert f"### {name[12:24]}: pixels/Ridge" in summary


def test_no_submission(clone: Clone) -> None:
    (clone.origin / "README.md").write_text("better")
    assert clone.check() == (0, "No submission is added.\n")


def test_one_that_is_taken_away(clone: Clone) -> None:
    for path in (clone.origin / "submissions").iterdir():
        path.unlink()
    assert clone.check() == (0, "No submission is added.\n")


def test_bad_ones_among_good_ones(clone: Clone, root: Path, tmp_path: Path) -> None:
    good = (root / "examples/my_results.parquet").read_bytes()
    clone.add(good)
    clone.add(b"junk")
    below = clone.origin / "submissions"
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (below / f"{'a' * 64}.parquet").symlink_to(secret)
    for name in ("-o", "a b;touch pwned.parquet", "$(touch pwned).parquet", "two\n::error::x", "ü"):
        (below / name).write_bytes(good)
    (below / "deeper").mkdir()
    (below / "deeper" / f"{'b' * 64}.parquet").write_bytes(good)
    code, summary = clone.check()
    assert code == 1
    assert "**9 files: 8 refused.**" in summary
    assert "pixels/Ridge" in summary
    assert "secret" not in summary
    assert not [path for path in tmp_path.rglob("pwned*") if path.parent.name != "submissions"]


def test_a_changed_submission_is_refused(clone: Clone, root: Path) -> None:
    (path,) = (clone.origin / "submissions").iterdir()
    path.write_bytes((root / "examples/my_results.parquet").read_bytes())
    code, summary = clone.check()
    assert code == 1
    assert "its name is not the SHA-256 of its bytes" in summary


def test_their_settings_are_not_believed(clone: Clone) -> None:
    (clone.origin / "leaderboard.toml").write_text('releases = ["nobody/nothing@v1"]')
    clone.add(b"junk")
    code, summary = clone.check()
    assert code == 1
    assert "cannot be read as parquet" in summary


def test_submissions_that_become_a_link(clone: Clone) -> None:
    shutil.rmtree(clone.origin / "submissions")
    (clone.origin / "submissions").symlink_to("/etc")
    code, summary = clone.check()
    assert code == 1
    assert "1 refused" in summary
