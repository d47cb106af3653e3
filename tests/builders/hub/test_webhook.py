"""Results repositories: the app that reviews pull requests, its gate, a new one, its workflow."""

import asyncio
import hashlib
import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import time
from html import unescape
from importlib import metadata
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from commands import build as called
from gate_client import EVENTS, SECRET, Client
from git_checkout import Checkout
from hub_server import Fault
from huggingface_hub import HfApi, WebhookPayload
from recorded import recorded

from benchmark_spec import errors
from benchmark_spec.schemas import SUBMISSION, SUBMISSION_OPTIONAL
from benchmark_spec.version import __version__
from builders.hub import gate
from builders.hub.gate import MOST_BYTES, Gate
from builders.hub.results_repo import UNKNOWN, WORKFLOW, start_results_repository
from builders.hub.webhook import FrontPage, changed_by, comment_on, make_app
from fslbench_data.leaderboard.repository import (
    SUBMISSIONS,
    FolderFiles,
    read_board,
    submission_name,
)
from fslbench_data.leaderboard.review import prepare, propose

REPO = "org/results"


def event(number, repo=REPO, scope="discussion", **more):
    """What the Hub posts when a pull request is opened; `more` are fields, or a__b of a field."""
    about = {"id": "1", "private": False, "owner": {"id": "2"}}
    address = {"web": "https://hub/x", "api": "https://hub/api/x"}
    request = {"id": "3", "title": "Results of mine", "status": "open", "author": {"id": "4"}}
    request |= {"num": number, "isPullRequest": True, "changes": {"base": "refs/heads/main"}}
    found = {
        "event": {"action": "create", "scope": scope},
        "repo": {**about, "type": "dataset", "name": repo, "url": address},
        "discussion": {**request, "url": {"web": "https://hub/x/discussions/1"}},
        "webhook": {"id": "5", "version": 3},
    }
    for path, value in more.items():
        first, _, second = path.partition("__")
        found[first] = {**found[first], second: value} if second else value
    return found


@pytest.fixture
def on_hub(hub, toy):
    hub.create_repo("org/toy", files=Path(toy.files.where))
    hub.tag("org/toy", "v1.0.0")
    return hub


@pytest.fixture
def results(on_hub):
    """A Hub with a results repository and the toy release, whose tasks it takes."""
    on_hub.create_repo(REPO, files={"leaderboard.toml": b'releases = ["org/toy@v1.0.0"]\n'})
    return on_hub


def submission(toy, name="mine", right=3):
    return recorded(toy.task_set_info("cats", "open-2w1s2q"), [4, right, 2, 4], name)


@pytest.fixture
def posted(results, monkeypatch):
    """The app, running; gives what posts to it and returns status and answer."""
    gradio = pytest.importorskip("gradio")
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = make_app(REPO, SECRET)
    how = {"prevent_thread_lock": True, "share": False, "quiet": True}
    launch(server_name="127.0.0.1", server_port=port, **how)

    def post(payload, secret=SECRET):
        headers = {"content-type": "application/json"}
        if secret is not None:
            headers["x-webhook-secret"] = secret
        url = f"http://127.0.0.1:{port}/webhooks/fslbench"
        answer = httpx.post(url, content=json.dumps(payload), headers=headers, timeout=60)
        return answer.status_code, answer.json()

    post.address = f"http://127.0.0.1:{port}/"
    yield post
    gradio.close_all(verbose=False)


def wait_for(many, found):
    deadline = time.monotonic() + 60
    while len(shown := found()) < many:
        assert time.monotonic() < deadline, shown
        time.sleep(0.05)
    return shown


@pytest.mark.slow
def test_each_commit_is_reviewed_once(results, toy, posted):
    propose(prepare(submission(toy), REPO))
    assert posted(event(1), secret=None)[0] == 401
    assert posted(event(1), secret="another")[0] == 403
    assert posted({"event": "nonsense"})[0] == 422
    # these two the gate refuses
    assert posted(event(1, discussion__num=float("nan")))[0] == 400
    assert httpx.post(f"{posted.address}gradio_api/upload").status_code == 404
    assert posted(event(1)) == (200, {"pull_requests": [1]})
    _, comment = wait_for(2, lambda: results.comments(REPO, 1))
    assert "every rule is met" in comment
    assert "mine" in comment
    assert f"Checked commit {results.sha(REPO, 'refs/pr/1')[:12]}." in comment
    posted(event(1, event__action="update"))  # nothing new
    results.commit(REPO, {"submissions/x.parquet": b"no submission"}, branch="refs/pr/1")
    refs = [{"ref": "refs/pr/1", "oldSha": "0" * 40, "newSha": results.sha(REPO, "refs/pr/1")}]
    pushed = event(1, scope="repo.content", event__action="update", updatedRefs=refs)
    assert posted(pushed) == (200, {"pull_requests": [1]})
    second = wait_for(3, lambda: results.comments(REPO, 1))[2]
    assert "1 refused" in second
    assert results.sha(REPO, "refs/pr/1")[:12] in second


def test_what_is_wrong_is_said(results, toy):
    good = prepare(submission(toy), REPO)
    name = f"submissions/{'ab' * 32}.parquet"
    results.commit(REPO, {good.path: good.content})
    propose(prepare(submission(toy, "<b>@everyone</b>", 1), REPO))
    results.commit(
        REPO,
        {
            name: good.content,  # under another name than its content's
            "submissions/`@a`.txt": b"hello",
            "leaderboard.toml": b'releases = ["org/other@v1.0.0"]\n',
            good.path: None,
        },
        branch="refs/pr/1",
    )
    results.commit(REPO, {"NEWS.md": b"news\n"})  # main goes on meanwhile
    assert comment_on(REPO, 1)
    (comment,) = results.comments(REPO, 1)[1:]
    assert "3 files: 2 refused" in comment
    assert "@everyone" not in comment
    assert "<b>" not in comment
    assert "the file does not end in" in comment
    assert "removes submissions/" in comment
    assert "changes leaderboard.toml" in comment
    assert "NEWS" not in comment  # which the pull request leaves alone
    assert "toy@1.0.0" in comment  # the settings are those of main
    assert not comment_on(REPO, 1)  # said already


def test_what_stops_no_comment(results, toy, quick_retries):
    """One forged by others, or by a name in it, and a Hub that fails: an error, no half comment."""
    propose(prepare(submission(toy), REPO))
    forged = f"Checked commit {results.sha(REPO, 'refs/pr/1')[:12]}."
    HfApi(token=results.token("eve")).comment_discussion(REPO, 1, forged, repo_type="dataset")
    HfApi().comment_discussion(REPO, 1, f"{forged}\nChecked commit 0.", repo_type="dataset")
    results.faults.add(Fault("discussions/1/comment", "status", status=500, times=None))
    with pytest.raises(errors.HubError):
        comment_on(REPO, 1)
    results.faults.clear()
    assert comment_on(REPO, 1)


def test_other_events_are_left_alone():
    for other in (
        {"repo": "org/elsewhere"},
        {"scope": "discussion.comment"},
        {"event__action": "delete"},
        {"discussion__isPullRequest": False},
        {"discussion__status": "closed"},
        {"discussion__num": -1},
        {"repo__type": "model"},
        {"scope": "repo.config"},
        {"scope": "repo.content", "updatedRefs": [{"ref": "refs/heads/main", "newSha": "0" * 40}]},
        {"scope": "repo.content", "updatedRefs": [{"ref": "refs/pr/1", "newSha": None}]},
        {"scope": "repo.content", "updatedRefs": [{"ref": "refs/pr/../1", "newSha": "0" * 40}]},
    ):
        assert changed_by(WebhookPayload(**event(1)), REPO) == ([1], False)
        assert changed_by(WebhookPayload(**event(1, **other)), REPO)[0] == []


def test_the_front_page_is_the_leaderboard_of_main(results, toy):
    front = FrontPage(REPO)
    assert "being made" in front.framed()
    front.renew()
    assert "No method answers any task set." in unescape(front.framed())
    good = prepare(submission(toy, "<b>mine</b>"), REPO)
    results.commit(REPO, {good.path: good.content})
    front.renew()
    frame = front.framed()
    assert frame.count("<") == 2  # the frame alone: all within it is escaped
    assert 'sandbox=""' in frame
    page = unescape(frame)
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert f"fslbench leaderboard --results {REPO} -o page.html" in page


def test_the_front_page_is_made_again_if_main_changes():
    for other, changed in (
        ({}, True),
        ({"updatedRefs": [{"ref": "refs/pr/1", "newSha": "0" * 40}]}, False),
        ({"updatedRefs": [{"ref": "refs/heads/main", "newSha": None}]}, False),
        ({"repo": "org/elsewhere"}, False),
        ({"scope": "discussion"}, False),
    ):
        refs = [{"ref": "refs/heads/main", "newSha": "0" * 40}]
        pushed = event(1, **{"scope": "repo.content", "updatedRefs": refs, **other})
        assert changed_by(WebhookPayload(**pushed), REPO)[1] == changed


@pytest.mark.slow
def test_visitors_see_the_page(results, toy, posted):
    visitor = pytest.importorskip("gradio_client").Client(posted.address, verbose=False)

    def shown(said):
        return [page for page in [str(visitor.predict(fn_index=0))] if said in page]

    wait_for(1, lambda: shown("No method answers any task set."))
    good = prepare(submission(toy, "a merged one"), REPO)
    results.commit(REPO, {good.path: good.content})
    refs = [{"ref": "refs/heads/main", "newSha": results.sha(REPO)}]
    merged = event(1, scope="repo.content", event__action="update", updatedRefs=refs)
    assert posted(merged) == (200, {"pull_requests": []})
    assert "<iframe" in wait_for(1, lambda: shown("a merged one"))[0]


@pytest.mark.slow
def test_apps_that_could_not_work(results, monkeypatch):
    pytest.importorskip("gradio")
    with pytest.raises(errors.HubNotFoundError):
        make_app("org/nothing", SECRET)
    with pytest.raises(errors.ResultsError):
        make_app("org/toy", SECRET)
    monkeypatch.setenv("WEBHOOK_SECRET", "")
    with pytest.raises(errors.HubError, match="WEBHOOK_SECRET"):
        make_app(REPO)
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = called(2, "webhook", "--results", REPO, "--host", "127.0.0.1", "--port", port)
    assert f"port {port} of 127.0.0.1 is not free: name another with --port" in told.output
    monkeypatch.setenv("HF_TOKEN", "hf_unknown")
    with pytest.raises(errors.HubAccessError, match="the token is not valid"):
        make_app(REPO)


# ---- the gate before the app: what is read of a request, and when; no server is needed -----------
@pytest.mark.parametrize(("secret", "status"), [(None, 401), ("another", 403), ("é", 403)])
def test_nothing_is_read_of_who_lacks_the_secret(secret, status):
    client = Client()
    assert client.send(body=[b"x" * 1000] * 1000, secret=secret) == status
    assert client.read == 0
    assert not client.passed
    assert client.send(headers=[(b"x-webhook-secret", SECRET.encode())]) == 401  # two are none


@pytest.mark.parametrize("path", [EVENTS, "/gradio_api/queue/join"])
def test_no_more_is_read_than_may_come(path):
    client = Client()
    assert client.send(path, [b" " * 2**16] * 10_000) == 413
    assert client.read <= MOST_BYTES + 2**16
    client = Client()
    for length in (str(MOST_BYTES + 1).encode(), b"9" * 5000, b"-1", b"x"):
        assert client.send(path, [b"x"], headers=[(b"content-length", length)]) == 413
    assert client.read == 0


@pytest.mark.parametrize(
    "path",
    ["/upload", "/gradio_api/upload", "/gradio_api/upload/", "/gradio_api/process_recording",
     "/gradio_api/stream/x", "/gradio_api/component_server", "/login", "/", "/webhooks/other",
     "/gradio_api/run/../upload", "/gradio_api/queue/join\n"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_uploads_are_off(path, method):
    client = Client()
    assert client.send(path, [b"x" * 1000] * 1000, method=method) == 404
    assert client.read == 0


@pytest.mark.parametrize("path", ["/queue/join", "/gradio_api/run/framed", "/gradio_api/call/v2/x"])
def test_what_the_page_asks_for_goes_through(path):
    client = Client()
    assert client.send(path, [b'{"fn', b'_index": 0}'], secret=None) == 200
    assert client.send("/gradio_api/upload_progress", method="GET", secret=None) == 200
    assert client.passed == [b'{"fn_index": 0}', b""]


def test_an_event_goes_through_as_it_came_and_nothing_else():
    numbers = (b'{"num": NaN}', b"[-Infinity]", b'{"num": 1e400}', b"9" * 5000)
    texts = (b"[" * 100_000, b'"\\ud800"', b"x=1", b'"\xff"', b"")
    client = Client()
    for body in (*numbers, *texts):
        assert client.send(body=body) == 400, body[:20]
    assert not client.passed
    body = b'{"num": 1.50, "text": "\xc3\xa9\\n"}'
    assert client.send(body=[body[:10], body[10:]]) == 200
    assert client.passed == [body]


def test_a_body_that_never_ends(monkeypatch):
    monkeypatch.setattr(gate, "SECONDS", 0.01)
    said = []

    async def never():
        await asyncio.sleep(60)

    async def send(message):
        said.append(message)

    async def app(*_):
        pytest.fail("it was let through")

    headers = [(b"x-webhook-secret", SECRET.encode())]
    scope = {"type": "http", "method": "POST", "path": EVENTS, "headers": headers}
    asyncio.run(Gate(app, (EVENTS,), SECRET)(scope, never, send))
    assert said[0]["status"] == 408


def _head(path):
    _, head, _ = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head)


EMBEDDED = ("--release", "embedded")


def test_the_files(tmp_path, on_hub):
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
    mine = recorded(info, [25] * info.n_tasks)
    propose(prepare(mine, "org/results"))
    hub.merge("org/results", 1)
    columns = ["method", "dataset", "task_set", "task_id", "n_correct", "n_query"]
    frame = mine.table.select(columns)
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
    with pytest.raises(errors.HubNotFoundError):
        start_results_repository(folder, ["org/toy@v1.0.0", "org/toy@v9.9.9"])
    on_hub.create_repo("org/empty", files={"README.md": b"no release"})
    on_hub.tag("org/empty", "v1.0.0")
    with pytest.raises(errors.FSLBenchError):
        start_results_repository(folder, ["org/empty@v1.0.0"])
    assert not folder.exists()


ADDRESS = "fslbench @ git+https://git.example.org/few-shot/fslbench@0123abc"


def test_the_command_names_what_is_installed(tmp_path):
    command = ("results-repo", tmp_path / "new", *EMBEDDED, "--title", "T", "--install", ADDRESS)
    result = called(0, *command)
    assert result.stderr.count("wrote ") == 3
    assert "use --install" not in result.stderr
    assert f'pip install "{ADDRESS}"' in (tmp_path / "new/README.md").read_text("utf-8")
    (step,) = (s for s in _steps(tmp_path / "new" / WORKFLOW) if s.get("name") == "Install")
    assert step["env"] == {"FSLBENCH": ADDRESS}
    assert "is there already" in called(2, *command).stderr


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
        result = called(2, "results-repo", tmp_path / "new", *options)
        assert said in result.stderr
        assert "leaderboard.toml" not in result.stderr  # there is none yet
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
    result = called(0, "results-repo", tmp_path / "new", *EMBEDDED)
    readme = (tmp_path / "new/README.md").read_text("utf-8")
    assert (f'pip install "{known}"' in readme) == bool(known)
    assert ("# in a clone of FSLBench" in readme) == (not known)
    assert ("use --install" in result.stderr) == (not known)


def test_nothing_of_others_is_written_over(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    for folder, said in ((".", "is there already"), ("README.md/below", "cannot make the folder")):
        with pytest.raises(errors.OutputError, match=said):
            start_results_repository(tmp_path / folder, ["embedded"])
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    for name in ("submissions", ".github"):
        (tmp_path / f"with_{name}").mkdir()
        (tmp_path / f"with_{name}" / name).write_text("mine")
        with pytest.raises(errors.OutputError, match="cannot make the folder"):
            start_results_repository(tmp_path / f"with_{name}", ["embedded"])
    assert not [*tmp_path.glob("with_*/*.toml")]


def test_the_space_runs_the_app(tmp_path, monkeypatch):
    options = ("--space", "org/results", "--title", 'The "best"', "--install", ADDRESS)
    assert called(0, "results-repo", tmp_path / "space", *options).stderr.count("wrote ") == 3
    head = _head(tmp_path / "space/README.md")
    assert (head["sdk"], head["title"]) == ("gradio", 'The "best"')
    required = ADDRESS.replace("fslbench @", "fslbench[app] @")
    assert (tmp_path / "space/requirements.txt").read_text() == f"{required}\n"
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
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["validate"]["steps"])


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
    there = [*clone.submissions.iterdir()]
    for path in there:
        path.unlink()
    said = f"No submission is added.\nSubmissions that it removes: {len(there)}.\n"
    assert clone.check() == (0, said)


@pytest.mark.slow
def test_bad_ones_among_good_ones(clone, root, tmp_path):
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
