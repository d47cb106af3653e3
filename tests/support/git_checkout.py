"""A checkout of git for tests, whose commits may claim any date."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


class Checkout:
    """A repository of git in a folder that is there already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("start")

    def git(self, *arguments: str, date: str = "2026-01-01T00:00:00Z", text: str = "") -> str:
        names = {"NAME": "somebody", "EMAIL": "somebody@example.org", "DATE": date}
        about = {f"GIT_{who}_{k}": v for who in ("AUTHOR", "COMMITTER") for k, v in names.items()}
        shut = {"GIT_CONFIG_GLOBAL": str(self.folder / ".no"), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)} | about | shut,
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, title: str, date: str = "2026-01-01T00:00:00Z") -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", title, date=date)
