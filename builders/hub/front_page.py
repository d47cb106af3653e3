"""The app's front page: the leaderboard of a results repository as it was merged last."""

from __future__ import annotations

from html import escape
from typing import Any

from benchmark_spec.extras import require
from fslbench_data.hub.address import HubAddress
from fslbench_data.leaderboard.hub_files import HubResults
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.opening import open_releases
from fslbench_data.leaderboard.page import leaderboard_page
from fslbench_data.leaderboard.repository import read_board

_WAIT = "<p>The leaderboard is being made. Come back in some minutes.</p>"


class FrontPage:
    """A page that is made again when the repository has changed, and shown to whoever comes."""

    def __init__(self, repo_id: str) -> None:
        self.repo_id = repo_id
        self.text = ""

    def __repr__(self) -> str:
        return f"<FrontPage of {self.repo_id}: {len(self.text)} characters>"

    def renew(self) -> None:
        """Rank what the main branch holds, and show it from now on; raises as the ranking does."""
        files = HubResults.open(HubAddress(self.repo_id))
        settings = read_board(files)
        ranking = leaderboard(files, open_releases(settings.releases), title=settings.title)
        self.text = leaderboard_page(ranking, files.where)

    def framed(self) -> str:
        """Return the page in a frame of its own, in which nothing runs."""
        if not self.text:
            return _WAIT
        return (
            '<iframe title="Leaderboard" sandbox="" style="width:100%;height:90vh;border:0" '
            f'srcdoc="{escape(self.text)}"></iframe>'
        )

    def blocks(self) -> Any:
        """Return it as the user interface of an app of gradio, asked anew for every visitor."""
        gradio = require("gradio", "app")
        with gradio.Blocks(title="Few-shot leaderboard", fill_width=True) as blocks:
            gradio.HTML(self.framed)
        return blocks
