"""A new results repository, and its workflow: its steps are run on pull requests of a clone."""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from git_checkout import Checkout

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchError, HubNotFoundError, OutputError
from benchmark_spec.schemas import SUBMISSION, SUBMISSION_OPTIONAL
from benchmark_spec.version import __version__
from builders.cli import main
from builders.hub.results_repo import UNKNOWN, WORKFLOW, start_results_repository
from fslbench_data.leaderboard.repository import (
    SUBMISSIONS,
    FolderFiles,
    read_board,
    submission_name,
)
from fslbench_data.leaderboard.review import prepare, propose


@pytest.fixture
def on_hub(hub, toy):
    hub.create_repo("org/toy", files=Path(toy.files.where))
    hub.tag("org/toy", "v1.0.0")
    return hub


def _command(folder, *options):
    return CliRunner().invoke(main, ["results-repo", str(folder), *options])


def _head(path):
    _, head, _ = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head)


EMBEDDED = ("--release", "embedded")


def test_the_files(tmp_path, on_hub):
    """Whose other words are those of examples/results."""
    title = 'A "title" \\ with $signs and @RELEASES@'
    made = start_results_repository(tmp_path / "new", ["org/toy@v1.0.0", "embedded"], title)
    found = read_board(FolderFiles(tmp_path / "new"))
    assert (found.title, found.releases) == (title, ("org/toy@v1.0.0", "embedded"))
    readme, head = made[1].read_text(encoding="utf-8"), _head(made[1])
    assert f"\n# {title}\n" in readme
    assert head["pretty_name"] == title
    for command in ("evaluate", "score"):
        assert re.search(rf"(?m)fslbench {command} .* --release org/toy@v1\.0\.0$", readme)
    assert not re.findall(r"@[A-Z]+@", readme.replace("@RELEASES@", ""))
    assert (tmp_path / "new/submissions").is_dir()
    (info,) = head["dataset_info"]
    names = [feature["name"] for feature in info["features"]]
    assert sorted(names) == sorted([*SUBMISSION.names, *SUBMISSION_OPTIONAL.names])
    files = {"config_name": info["config_name"], "data_files": f"{SUBMISSIONS}/*.parquet"}
    assert head["configs"] == [files]


def test_submissions_are_one_data_set(hub, embedded, tmp_path):
    """What `submit` sends, and what others wrote, with and without what is optional."""
    from datasets import load_dataset

    start_results_repository(tmp_path / "new", ["embedded"])
    hub.create_repo("org/results", files=tmp_path / "new")
    info = embedded.task_set_info("digits", "open-5w5s5q")
    recorder = fb.Recorder("mine")
    recorder.add_counts(info, [25] * info.n_tasks)
    propose(prepare(recorder.submission(), "org/results"))
    hub.merge("org/results", 1)
    columns = ["method", "dataset", "task_set", "task_id", "n_correct", "n_query"]
    frame = recorder.submission().table.select(columns)
    theirs = frame.append_column("run", pa.array(["1"] * len(frame)))
    pq.write_table(theirs, tmp_path / "theirs.parquet")
    content = (tmp_path / "theirs.parquet").read_bytes()
    hub.commit("org/results", {submission_name(hashlib.sha256(content).hexdigest()): content})
    rows = load_dataset("org/results", "submissions", split="train")
    assert len(rows) == 2 * info.n_tasks
    found = {(row["method"], row["run"], row["n_correct"]) for row in rows}
    assert found == {("mine", None, 25), ("mine", "1", 25)}


def test_releases_are_opened_first(tmp_path, on_hub):
    folder = tmp_path / "new"
    with pytest.raises(HubNotFoundError):
        start_results_repository(folder, ["org/toy@v1.0.0", "org/toy@v9.9.9"])
    on_hub.create_repo("org/empty", files={"README.md": b"no release"})
    on_hub.tag("org/empty", "v1.0.0")
    with pytest.raises(FSLBenchError):
        start_results_repository(folder, ["org/empty@v1.0.0"])
    assert not folder.exists()


ADDRESS = "fslbench @ git+https://git.example.org/few-shot/fslbench@0123abc"


def test_the_command_names_what_is_installed(tmp_path):
    command = (tmp_path / "new", *EMBEDDED, "--title", "T", "--install", ADDRESS)
    result = _command(*command)
    assert result.exit_code == 0
    assert result.stderr.count("wrote ") == 3
    assert "use --install" not in result.stderr
    assert f'pip install "{ADDRESS}"' in (tmp_path / "new/README.md").read_text("utf-8")
    (step,) = (s for s in _steps(tmp_path / "new" / WORKFLOW) if s.get("name") == "Install")
    assert step["env"] == {"FSLBENCH": ADDRESS}
    again = _command(*command)
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)


def test_what_is_refused_is_not_begun(tmp_path):
    for options, said in (
        ((), "name a --release for a repository"),
        ((*EMBEDDED, "--space", "org/results"), "name a --release for a repository"),
        (("--release", "org/small@main"), "org/small@main can come to name other tasks"),
        (("--release", "/tmp/release"), "is no release that everybody can open"),
        ((*EMBEDDED, "--title", "a\nb"), "title"),
        (("--space", "results"), "is not the address of a repository"),
        *(
            ((*EMBEDDED, "--install", wrong), "is not what pip could install FSLBench by")
            for wrong in ("numpy", 'fslbench" ; rm x', "fslbench @ $(x)", "fslbench\n@ a")
        ),
    ):
        result = _command(tmp_path / "new", *options)
        assert result.exit_code == 2
        assert said in result.stderr
        assert ("leaderboard.toml" in result.stderr) == ("--title" in options)  # there is none yet
        assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("origin", "known"),
    [
        (None, f"fslbench=={__version__}"),
        ({"url": "file:///x.whl", "archive_info": {}}, ""),
        ({"url": "https://a.b/c.whl", "archive_info": {}}, "fslbench @ https://a.b/c.whl"),
    ],
)
def test_what_pip_knows_is_named(tmp_path, monkeypatch, origin, known):
    text = None if origin is None else json.dumps(origin)
    monkeypatch.setattr(metadata.PathDistribution, "read_text", lambda *_: text)
    result = _command(tmp_path / "new", *EMBEDDED)
    readme = (tmp_path / "new/README.md").read_text("utf-8")
    assert (f'pip install "{known}"' in readme) == bool(known)
    assert ("# in a clone of FSLBench" in readme) == (not known)
    assert ("use --install" in result.stderr) == (not known)


def test_nothing_of_others_is_written_over(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    for folder, said in ((".", "is there already"), ("README.md/below", "cannot make the folder")):
        with pytest.raises(OutputError, match=said):
            start_results_repository(tmp_path / folder, ["embedded"])
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_the_space_runs_the_app(tmp_path, monkeypatch):
    options = ("--space", "org/results", "--title", 'The "best"', "--install", ADDRESS)
    result = _command(tmp_path / "space", *options)
    assert result.exit_code == 0
    assert result.stderr.count("wrote ") == 3
    head = _head(tmp_path / "space/README.md")
    assert (head["sdk"], head["title"]) == ("gradio", 'The "best"')
    assert (tmp_path / "space/requirements.txt").read_text() == (
        ADDRESS.replace("fslbench @", "fslbench[app] @") + "\n"
    )
    asked = []

    def make(repo_id):
        asked.append(("make", repo_id))
        return lambda **settings: asked.append(("launch", settings["server_port"]))

    monkeypatch.setattr("builders.hub.webhook.make_app", make)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(tmp_path / "space" / head["app_file"]))
    assert ended.value.code == 0
    assert asked == [("make", "org/results"), ("launch", 7860)]


def test_the_example_was_made_so(root, tmp_path):
    made = start_results_repository(tmp_path, ["embedded"], "Digits, from pixels", UNKNOWN)
    for path in made:
        shown = root / "examples/results" / path.relative_to(tmp_path)
        assert shown.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


class Clone(Checkout):
    """A results repository under git, pull requests on it, and a runner of the workflow's steps."""

    def __init__(self, folder, example):
        self.parent, origin = folder, folder / "origin"
        shutil.copytree(example, origin)
        super().__init__(origin)
        self.submissions = origin / "submissions"
        (folder / "bin").mkdir()
        command = folder / "bin/fslbench"
        code = "from fslbench_data.cli import main; main()"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
        command.chmod(0o755)

    def add(self, content):
        name = submission_name(hashlib.sha256(content).hexdigest())
        (self.folder / name).write_bytes(content)
        return name

    def check(self):
        """Merge what is not committed as a pull request; run the steps; exit code and summary."""
        self.git("checkout", "--quiet", "-b", "theirs")
        self.commit("theirs")
        self.git("checkout", "--quiet", "main")
        (self.folder / "MEANWHILE.md").write_text("main has moved on")
        self.commit("meanwhile")
        self.git("merge", "--quiet", "--no-ff", "-m", "merged", "theirs")
        work, summary = self.parent / "work", self.parent / "summary.md"
        work.mkdir()
        proposed = str(work / "proposed")
        self.git("clone", "--quiet", "--depth", "2", f"file://{self.folder}", proposed)
        path = f"{self.parent / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
        failed = 0
        for step in _steps(self.folder / WORKFLOW):
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
            log = [*done.stdout.splitlines(), *done.stderr.splitlines()]
            assert not any(line.startswith("::") for line in log)
        return failed, summary.read_text(encoding="utf-8") if summary.exists() else ""


def _steps(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return list(content["jobs"]["validate"]["steps"])


@pytest.fixture
def clone(tmp_path, root):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    return Clone(tmp_path, root / "examples/results")


def test_the_workflow_has_no_more_rights_than_it_needs(tmp_path):
    start_results_repository(tmp_path, ["embedded"])
    text = (tmp_path / WORKFLOW).read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert content[True] == "pull_request"  # YAML reads `on` so
    assert content["permissions"] == {"contents": "read"}
    assert "secrets" not in text.replace("no secrets", "")
    steps = _steps(tmp_path / WORKFLOW)
    (checkout,) = (step for step in steps if "checkout" in step.get("uses", ""))
    assert checkout["with"]["persist-credentials"] is False
    # nothing that strangers choose is ever part of a command
    assert all("${{" not in step.get("run", "") for step in steps)


def test_none_is_added_and_one_is_taken_away(clone):
    (clone.folder / "README.md").write_text("better")
    for path in clone.submissions.iterdir():
        path.unlink()
    assert clone.check() == (0, "No submission is added.\n")


@pytest.mark.slow
def test_bad_ones_among_good_ones(clone, root, tmp_path):
    """Nor are their settings believed."""
    good = (root / "examples/my_results.parquet").read_bytes()
    below = clone.submissions
    accepted, *_ = below.iterdir()
    accepted.write_bytes(good)
    clone.add(good)
    clone.add(b"junk")
    (clone.folder / "leaderboard.toml").write_text('releases = ["nobody/nothing@v1"]')
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (below / f"{'a' * 64}.parquet").symlink_to(secret)
    for name in ("-o", "a b;touch pwned.parquet", "$(touch pwned).parquet", "two\n::error::x", "ü"):
        (below / name).write_bytes(good)
    (below / "deeper").mkdir()
    (below / "deeper" / f"{'b' * 64}.parquet").write_bytes(good)
    code, summary = clone.check()
    assert code == 1
    assert "**10 files: 9 refused.**" in summary
    assert "pixels/Ridge" in summary
    assert "its name is not the SHA-256 of its bytes" in summary
    assert "cannot be read as parquet" in summary
    assert "secret" not in summary
    assert not [path for path in tmp_path.rglob("pwned*") if path.parent.name != "submissions"]
