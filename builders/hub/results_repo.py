"""Start a results repository, and the Space of the app that reviews it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from benchmark_spec.errors import OutputError, ResultsError
from benchmark_spec.extras import own_requirement
from benchmark_spec.naming import check_text
from builders.execution.steps import make_folder
from fslbench_data.files import write_whole
from fslbench_data.hub import HubAddress
from fslbench_data.leaderboard.repository import BOARD_FILE, SUBMISSIONS, parse_board
from fslbench_data.release.release import EMBEDDED, load_release

WORKFLOW = ".github/workflows/validate.yml"
DEFAULT_TITLE = "Few-shot leaderboard"

UNKNOWN = "fslbench @ git+https://ADDRESS-OF-FSLBENCH"
"""The placeholder for an unknown address of the package, to be replaced by hand."""

_REQUIREMENT = re.compile(r"fslbench(?:\[[a-z,]+\])?( ?(?:@|==|>=|~=)[\w @+:/.,=<>~#&?%-]+)?")


def _requirement_of(named: str | None) -> str:
    """Return the named requirement, or the one that pip installed here if others can use it."""
    if named is not None and not _REQUIREMENT.fullmatch(named):
        raise ResultsError(
            f"{named!r:.200} is not what pip could install FSLBench by",
            expected="fslbench @ git+https://… with the address of its repository",
        )
    return named or own_requirement() or UNKNOWN


def start_results_repository(
    folder: Path,
    releases: Sequence[str],
    title: str | None = None,
    requirement: str | None = None,
) -> tuple[Path, ...]:
    """Write the first files of a results repository, and return their paths.

    `releases`, newest first, are ``embedded`` or ``ORG/NAME@vX.Y.Z`` on the Hub; each must open.
    """
    requirement = _requirement_of(requirement)
    title = check_text(title or DEFAULT_TITLE, "the title")
    words = {
        "TITLE": title,
        "QUOTED": _quoted(title),
        "RELEASE": "".join(f" --release {name}" for name in releases[:1] if name != EMBEDDED),
        "RELEASES": "\n".join(f"  {_quoted(name)}," for name in releases),
        "INSTALL": f'pip install "{requirement}"'
        if requirement != UNKNOWN
        else "pip install .                        # in a clone of FSLBench",
        "REQUIREMENT": requirement,
    }
    names = {BOARD_FILE: "leaderboard.toml", "README.md": "README.md", WORKFLOW: "validate.yml"}
    texts = _filled(names, words)
    parse_board(texts[BOARD_FILE].encode("utf-8", "surrogatepass"), "")
    for name in releases:
        load_release(name)
    return _write_new(folder, texts, SUBMISSIONS)


def start_space(
    folder: Path, results: str, title: str | None = None, requirement: str | None = None
) -> tuple[Path, ...]:
    """Write the files of a Space that runs the app of a results repository ``ORG/RESULTS``."""
    title = check_text(title or DEFAULT_TITLE, "the title")
    required = re.sub(r"^fslbench(\[[a-z,]+\])?", "fslbench[app]", _requirement_of(requirement))
    words = {
        "QUOTED": _quoted(title),
        "RESULTS": HubAddress.parse(results).repo_id,
        "REQUIREMENT": required,
    }
    names = {"README.md": "space.md", "requirements.txt": "requirements.txt", "app.py": "app.txt"}
    return _write_new(folder, _filled(names, words))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _filled(names: Mapping[str, str], words: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of files, of the templates in `names`, with @TITLE@ and the like filled."""
    folder, texts = files("builders") / "hub" / "templates", {}
    for name, template in names.items():
        text = (folder / template).read_text(encoding="utf-8")
        texts[name] = re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)
    return texts


def _write_new(folder: Path, texts: Mapping[str, str], *folders: str) -> tuple[Path, ...]:
    """Write files by path below a folder, and `folders`; OutputError if a file is there already."""
    targets = {folder / name: text for name, text in texts.items()}
    for target in targets:
        if target.exists() or target.is_symlink():
            raise OutputError(f"{target} is there already", fix="name another folder, or remove it")
    for needed in (*(folder / name for name in folders), *(target.parent for target in targets)):
        make_folder(needed)
    for target, text in targets.items():
        write_whole(target, text)
    return tuple(targets)
