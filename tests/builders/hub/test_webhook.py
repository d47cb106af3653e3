"""The app that reviews pull requests, and the gate before it."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from html import unescape
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from gate_client import EVENTS, SECRET, Client
from hub_server import Fault
from huggingface_hub import HfApi, WebhookPayload

import fslbench_data as fb
from benchmark_spec.errors import HubAccessError, HubError, HubNotFoundError, ResultsError
from builders.cli import main
from builders.hub import gate
from builders.hub.gate import MOST_BYTES, Gate
from builders.hub.webhook import FrontPage, changes_main, comment_on, make_app, pull_requests
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
def results(hub, toy):
    """A Hub with a results repository and the toy release, whose tasks it takes."""
    hub.create_repo("org/toy", files=Path(toy.files.where))
    hub.tag("org/toy", "v1.0.0")
    hub.create_repo(REPO, files={"leaderboard.toml": b'releases = ["org/toy@v1.0.0"]\n'})
    return hub


def submission(toy, name="mine", right=3):
    recorder = fb.Recorder(name)
    recorder.add_counts(toy.task_set_info("cats", "open-2w1s2q"), [4, right, 2, 4])
    return recorder.submission()


@pytest.fixture
def posted(results, monkeypatch):
    """The app, running; gives what posts to it and returns status and answer."""
    gradio = pytest.importorskip("gradio")
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = make_app(REPO, SECRET)
    launch(
        prevent_thread_lock=True, server_name="127.0.0.1", server_port=port, share=False, quiet=True
    )

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
    """What is found, once there is as much of it."""
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
    other = prepare(submission(toy, "<b>@everyone</b>", 1), REPO)
    propose(other)
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
    assert "removes submissions/" in comment
    assert "changes leaderboard.toml" in comment
    assert "NEWS" not in comment  # which the pull request leaves alone
    assert "toy@1.0.0" in comment  # the settings are those of main
    assert not comment_on(REPO, 1)  # said already


def test_what_stops_no_comment(results, toy, quick_retries):
    """One that others have forged, and a Hub that fails, which is an error and no half comment."""
    propose(prepare(submission(toy), REPO))
    forged = f"Checked commit {results.sha(REPO, 'refs/pr/1')[:12]}."
    HfApi(token=results.token("eve")).comment_discussion(REPO, 1, forged, repo_type="dataset")
    results.faults.add(Fault("discussions/1/comment", "status", status=500, times=None))
    with pytest.raises(HubError):
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
        assert pull_requests(WebhookPayload(**event(1)), REPO) == [1]
        assert pull_requests(WebhookPayload(**event(1, **other)), REPO) == []


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
        assert changes_main(WebhookPayload(**pushed), REPO) == changed


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
    with pytest.raises(HubNotFoundError):
        make_app("org/nothing", SECRET)
    with pytest.raises(ResultsError):
        make_app("org/toy", SECRET)
    monkeypatch.setenv("WEBHOOK_SECRET", "")
    with pytest.raises(HubError, match="WEBHOOK_SECRET"):
        make_app(REPO)
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        options = ["webhook", "--results", REPO, "--host", "127.0.0.1", "--port", port]
        told = CliRunner().invoke(main, options)
    assert told.exit_code == 2
    assert f"port {port} of 127.0.0.1 is not free: name another with --port" in told.output
    monkeypatch.setenv("HF_TOKEN", "hf_unknown")
    with pytest.raises(HubAccessError, match="the token is not valid"):
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
    """Whether or not the request says how much it is."""
    client = Client()
    assert client.send(path, [b" " * 2**16] * 10_000) == 413
    assert client.read <= MOST_BYTES + 2**16
    client = Client()
    for length in (str(MOST_BYTES + 1).encode(), b"9" * 5000, b"-1", b"x"):
        assert client.send(path, [b"x"], headers=[(b"Content-Length", length)]) == 413
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
