"""A new results repository, for git or for the Hub, and the Space of the app that reviews it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from benchmark_spec.errors import OutputError, ResultsError
from benchmark_spec.extras import own_requirement
from builders.execution.steps import make_folder
from fslbench_data.files import write_whole
from fslbench_data.hub import HubAddress
from fslbench_data.leaderboard.repository import (
    BOARD_FILE,
    SUBMISSIONS,
    check_release_name,
    parse_board,
)
from fslbench_data.release.release import EMBEDDED, load_release

WORKFLOW = ".github/workflows/validate.yml"
DEFAULT_TITLE = "Few-shot leaderboard"

UNKNOWN = "fslbench @ git+https://ADDRESS-OF-FSLBENCH"
"""A placeholder for the unknown address of the package, to be filled in by hand."""

_REQUIREMENT = re.compile(r"fslbench(?:\[[a-z,]+\])?( ?(?:@|==|>=|~=)[\w @+:/.,=<>~#&?%-]+)?")


def requirement_of(named: str | None) -> str:
    """Return the requirement named, or that which pip installed here, if others can install it."""
    if named is not None and not _REQUIREMENT.fullmatch(named):
        raise ResultsError(
            f"{named!r:.200} is not what pip could install FSLBench by",
            expected="fslbench @ git+https://… with the address of its repository",
        )
    return named or own_requirement() or UNKNOWN


def start_results_repository(
    folder: Path,
    releases: Sequence[str],
    title: str = DEFAULT_TITLE,
    requirement: str | None = None,
) -> tuple[Path, ...]:
    """Write the files that a results repository starts with, and return their paths.

    `releases` are ``embedded``, or ``ORG/NAME@vX.Y.Z`` on the Hub, newest first; each is opened
    first.
    """
    for name in releases:
        check_release_name(name)
    requirement = requirement or requirement_of(None)
    option = "" if not releases or releases[0] == EMBEDDED else f" --release {releases[0]}"
    words = {
        "TITLE": title,
        "QUOTED": json.dumps(title, ensure_ascii=False),
        "RELEASE": option,
        "RELEASES": "\n".join(f"  {json.dumps(n, ensure_ascii=False)}," for n in releases),
        "INSTALL": f'pip install "{requirement}"'
        if requirement != UNKNOWN
        else "pip install .                        # in a clone of FSLBench",
        "REQUIREMENT": requirement,
    }
    texts = {
        BOARD_FILE: _filled("leaderboard.toml", words),
        "README.md": _filled("README.md", words),
        WORKFLOW: _filled("validate.yml", words),
    }
    parse_board(texts[BOARD_FILE].encode("utf-8", "surrogatepass"), BOARD_FILE)
    for name in releases:
        load_release(name)
    made = _write_new(folder, texts)
    make_folder(folder / SUBMISSIONS)
    return made


def start_space(
    folder: Path, results: str, title: str = DEFAULT_TITLE, requirement: str | None = None
) -> tuple[Path, ...]:
    """Write the files of a Space that runs the app of a results repository ``ORG/RESULTS``."""
    requirement = requirement or requirement_of(None)
    words = {
        "QUOTED": json.dumps(title, ensure_ascii=False),
        "RESULTS": HubAddress.parse(results).repo_id,
        "REQUIREMENT": re.sub(r"^fslbench(\[[a-z,]+\])?", "fslbench[app]", requirement),
    }
    names = {"README.md": "space.md", "requirements.txt": "requirements.txt", "app.py": "app.txt"}
    return _write_new(folder, {name: _filled(template, words) for name, template in names.items()})


def _filled(template: str, words: Mapping[str, str]) -> str:
    """Return a template with its placeholders filled, such as @TITLE@."""
    text = (files("builders") / "hub" / "templates" / template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)


def _write_new(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write files by path below a folder; raises an OutputError if one is there already."""
    targets = {folder / name: text for name, text in texts.items()}
    for target in targets:
        if target.exists() or target.is_symlink():
            raise OutputError(f"{target} is there already", fix="name another folder, or remove it")
    for target, text in targets.items():
        make_folder(target.parent)
        write_whole(target, text)
    return tuple(targets)
