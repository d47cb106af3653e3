"""When files came into a repository of git: by the order of its commits, not by their dates."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SECONDS = 120
_SETTINGS = (
    # a folder may come from strangers with its `.git`: nothing that it names is run
    "log.showSignature=false",
    "gpg.program=false",
    "core.fsmonitor=false",
    "core.hooksPath=.git/no-hooks",
    "core.pager=cat",
    "core.alternateRefsCommand=false",
    "protocol.allow=never",
    # and nothing that it says changes what is told
    "log.showRoot=true",
)
_MARK = "\x01"


def arrivals(folder: Path, below: str) -> dict[str, int]:
    """Number the files below a folder of a checkout, by path, by the commit that added each.

    Commits are counted along the first parents of HEAD: a commit's date is whatever its author
    says, but a merged branch comes with its merge.  The files of a shallow checkout's first commit
    came together.  Empty where there is no git, or `folder` has no `.git` of its own.
    """
    if not (folder / ".git").exists():
        return {}
    command = ["git", "-C", str(folder), "--no-pager", "--literal-pathspecs"]
    for setting in _SETTINGS:
        command += ["-c", setting]
    command += ["log", "-z", "--reverse", "--first-parent", "-m", "--no-renames", "--name-only"]
    command += ["--diff-filter=A", "--no-ext-diff", "--no-textconv", "--no-show-signature"]
    command += [f"-O{os.devnull}"]  # no order of files of its own
    command += [f"--format=%x{ord(_MARK):02x}", "HEAD", "--", below]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            command,
            env={**kept, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    commits: dict[str, int] = {}
    commit = 0
    for part in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
        marks, name = part.count(_MARK), part.replace(_MARK, "").strip("\n")
        commit += marks
        if name:
            commits.setdefault(name, commit)
    return commits
