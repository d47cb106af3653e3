"""A new results repository: the files that it starts with, for git or for the Hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from benchmark_spec.errors import OutputError
from benchmark_spec.version import __version__
from fslbench_data.files import write_whole
from fslbench_data.leaderboard.opening import open_releases
from fslbench_data.leaderboard.repository import (
    BOARD_FILE,
    EMBEDDED,
    check_release_name,
    parse_board,
)

WORKFLOW = ".github/workflows/validate.yml"
_TEMPLATES = {
    BOARD_FILE: "leaderboard.toml",
    "README.md": "README.md",
    WORKFLOW: "validate.yml",
}
DEFAULT_TITLE = "Few-shot leaderboard"


def start_results_repository(
    folder: Path, releases: Sequence[str], title: str = DEFAULT_TITLE
) -> tuple[Path, ...]:
    """Write the files that a results repository starts with, and return their paths.

    Parameters
    ----------
    folder
        Made if there is none; nothing in it is written over.
    releases
        Newest first: ``embedded``, or ``ORG/NAME@vX.Y.Z`` on the Hub; each is opened before
        anything is written.
    title
        Of the leaderboard; one printable line.

    Raises
    ------
    ResultsError
        If the title or a release is not one that anybody could read.
    HubError
        If the Hub has no such release, refuses it or does not answer, and the cache has it not.
    OutputError
        If one of the files is there already, or the folder cannot be written.
    """
    for name in releases:
        check_release_name(name)
    texts = {
        name: (files("builders") / "hub" / "templates" / template).read_text(encoding="utf-8")
        for name, template in _TEMPLATES.items()
    }
    texts = {name: text.replace("@VERSION@", __version__) for name, text in texts.items()}
    option = "" if not releases or releases[0] == EMBEDDED else f" --release {releases[0]}"
    texts["README.md"] = texts["README.md"].replace(" @RELEASE@", option).replace("@TITLE@", title)
    quoted = [json.dumps(text, ensure_ascii=False) for text in (title, *releases)]
    texts[BOARD_FILE] = (
        texts[BOARD_FILE]
        .replace("@RELEASES@", "\n".join(f"  {name}," for name in quoted[1:]))
        .replace("@TITLE@", quoted[0])
    )
    parse_board(texts[BOARD_FILE].encode("utf-8", "surrogatepass"), BOARD_FILE)
    open_releases(releases)
    targets = {folder / name: text for name, text in texts.items()}
    for target in targets:
        if target.exists() or target.is_symlink():
            raise OutputError(f"{target} is there already", fix="name another folder, or remove it")
    for target, text in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"cannot write {target}: {error.strerror}", fix="name a folder that may be written"
            ) from None
        write_whole(target, text)
    return tuple(targets)
