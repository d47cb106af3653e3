"""An app that checks pull requests on a results repository, and shows its leaderboard."""

import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from typing import Any

from huggingface_hub import WebhookPayload, WebhooksServer

from benchmark_spec.errors import FSLBenchError, HubError, listing
from benchmark_spec.extras import require
from builders.hub.gate import Gate
from fslbench_data.hub import HubAddress, api, files_at, hub_errors
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.page import leaderboard_page
from fslbench_data.leaderboard.repository import SUBMISSIONS, HubResults, read_board
from fslbench_data.leaderboard.review import review, review_text
from fslbench_data.release.release import load_release
from fslbench_data.render.templating import escaped

PATH = "fslbench"
"""The webhook's address is ``/webhooks/fslbench``."""

_EVENTS = f"/webhooks/{PATH}"
_MOST_NUMBER = 10**9
_REF = re.compile(r"refs/pr/([1-9][0-9]{0,8})")
_MAIN = "refs/heads/main"
_LOG = logging.getLogger(__name__)


def changed_by(payload: WebhookPayload, repo_id: str) -> tuple[list[int], bool]:
    """Return which pull requests an event changed, and whether it changed the main branch."""
    if (payload.repo.type, payload.repo.name) != ("dataset", repo_id):
        return [], False
    if payload.event.scope == "repo.content":
        refs = [ref.ref for ref in payload.updatedRefs or [] if ref.newSha]
        return [int(match[1]) for match in map(_REF.fullmatch, refs) if match], _MAIN in refs
    discussion = payload.discussion
    if (
        payload.event.scope == "discussion"
        and payload.event.action in ("create", "update")
        and discussion is not None
        and discussion.isPullRequest
        and discussion.status in ("open", "draft")
        and 0 < discussion.num < _MOST_NUMBER
    ):
        return [discussion.num], False
    return [], False


def comment_on(repo_id: str, number: int) -> bool:
    """Review a pull request as it is now, and comment; returns False if its commit has a comment.

    Its changes are those since the commit of ``main`` from which it started.
    """
    main = HubResults.open(HubAddress(repo_id))
    proposed = HubResults.open(HubAddress(repo_id, f"refs/pr/{number}"))
    checked = f"Checked commit {proposed.commit[:12]}"
    with hub_errors("reading its comments and history", repo_id):
        client = api()
        own_name = client.whoami()["name"]
        details = client.get_discussion_details(repo_id, number, repo_type="dataset")
        for event in details.events:
            last = str(getattr(event, "content", "")).strip().splitlines()[-1:]
            if event.author == own_name and last == [f"{checked}."]:  # above it stand their names
                return False
        main_commits = {*main.commits()}
        start = next((commit for commit in proposed.commits() if commit in main_commits), None)
    if start is None:
        raise HubError(f"pull request {number} has no commit in common with main", where=repo_id)
    before, after = (
        {(path, file.blob_id) for path, file in files.items()}
        for files in (files_at(repo_id, start), proposed.tree)
    )
    changed = sorted({path for path, _ in before ^ after})
    submissions = [path for path in changed if path.startswith(f"{SUBMISSIONS}/")]
    added = [path for path in submissions if path in proposed.tree]
    text = review_text(review(proposed, added, main))
    other_changes = [
        *(f"removes {escaped(path)}" for path in submissions if path not in added),
        *(f"changes {escaped(path)}" for path in changed if path not in submissions),
    ]
    if other_changes:
        text += f"\nIt also {listing(other_changes, 10)}.\n"
    with hub_errors("commenting", repo_id):
        client.comment_discussion(repo_id, number, f"{text}\n{checked}.", repo_type="dataset")
    return True


_WAIT = "<p>The leaderboard is being made. Come back in some minutes.</p>"


class FrontPage:
    """The page of the leaderboard, made anew when the repository changes."""

    def __init__(self, repo_id: str) -> None:
        self.repo_id = repo_id
        self.text = ""

    def renew(self) -> None:
        """Rank the results of the main branch, and show the ranking; raises as that does."""
        files = HubResults.open(HubAddress(self.repo_id))
        settings = read_board(files)
        releases = tuple(map(load_release, settings.releases))
        ranking = leaderboard(files, releases, title=settings.title)
        self.text = leaderboard_page(ranking, files.where)

    def framed(self) -> str:
        """Return the page in a sandboxed frame, in which nothing runs."""
        if not self.text:
            return _WAIT
        return (
            '<iframe title="Leaderboard" sandbox="" style="width:100%;height:90vh;border:0" '
            f'srcdoc="{escape(self.text)}"></iframe>'
        )

    def blocks(self) -> Any:
        """Return gradio's user interface, which reads the page for every visitor."""
        gradio = require("gradio", "app")
        with gradio.Blocks(title="Few-shot leaderboard", fill_width=True) as blocks:
            gradio.HTML(self.framed)
        return blocks


def make_app(repo_id: str, secret: str | None = None) -> Callable[..., None]:
    """Make the app of one results repository; its front page is the leaderboard.

    Returns the function that starts it, behind a :class:`Gate`, with options of
    :meth:`huggingface_hub.WebhooksServer.launch`.  Events are accepted at once and processed one
    after another, so that many pull requests take no more memory than one.  The Hub must send the
    `secret`, by default that of WEBHOOK_SECRET.
    """
    require("gradio", "app")
    secret = os.environ.get("WEBHOOK_SECRET") if secret is None else secret
    if not secret:
        raise HubError(
            "the app has no secret, so that it could not tell the Hub's events from others",
            expected="the variable WEBHOOK_SECRET",
            fix="set it to a long random text, here and in the webhook's settings on the Hub",
        )
    read_board(HubResults.open(HubAddress(repo_id)))
    with hub_errors("looking at its own account", repo_id):
        _LOG.info("reviewing %s as %s", repo_id, api().whoami()["name"])
    front = FrontPage(repo_id)
    server = WebhooksServer(ui=front.blocks(), webhook_secret=secret)
    queue = ThreadPoolExecutor(max_workers=1)
    queue.submit(_work, "the leaderboard", front.renew)

    @server.add_webhook(PATH)
    async def on_event(payload: WebhookPayload) -> dict[str, Any]:
        numbers, main_changed = changed_by(payload, repo_id)
        for number in numbers:
            queue.submit(_work, f"pull request {number}", partial(comment_on, repo_id, number))
        if main_changed:
            queue.submit(_work, "the leaderboard", front.renew)
        return {"pull_requests": numbers}

    from starlette.middleware import Middleware

    gate = Middleware(Gate, events=(_EVENTS,), secret=secret)
    return partial(server.launch, app_kwargs={"middleware": [gate]})


def _work(what: str, work: Callable[[], bool | None]) -> None:
    """Run a piece of work, and log its errors."""
    try:
        _LOG.info("%s: %s", what, "nothing new" if work() is False else "done")
    except FSLBenchError as error:
        _LOG.error("%s: %s", what, error)
    except Exception:
        _LOG.exception("%s", what)
