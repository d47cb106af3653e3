"""Where the weights of open_clip's and timm's models are: a file at hand, the Hub, or a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

from benchmark_spec.errors import BackboneError, FSLBenchError, HubError
from benchmark_spec.extras import require
from fslbench_data.hub.download import fetch


def local_file(text: str, folder: Path | None) -> Path | None:
    """Find the file of that path, as it is or in the weights folder; None if there is neither."""
    for path in (Path(text).expanduser(), *([folder / text] if folder else [])):
        if path.is_file():
            return path
    return None


def hub_file(
    name: str, repo: str, files: Sequence[str], by_hand: str
) -> tuple[Path, dict[str, str]]:
    """Find a file of a model repository in the Hub's cache or on the Hub, and describe it.

    BackboneError says which file to provide, and how, where there is none or no connection.

    Parameters
    ----------
    name
        Of the backbone, for messages.
    repo
        ``owner/name``, or ``owner/name@revision``.
    files
        In order of preference.
    by_hand
        How the backbone is named with a file, ``timm:resnet18@FILE``.
    """
    repo, _, revision = repo.partition("@")
    problem: HubError | None = None
    for file in files:
        try:
            path = fetch(repo, file, revision or "main", repo_type="model")
        except HubError as error:
            problem = problem or error
        else:
            snapshot = path.parts[path.parts.index("snapshots") + 1]
            return path, {"hub": repo, "file": file, "revision": snapshot}
    reason = problem.what if problem else "no file is known"
    raise BackboneError(
        f"{name} needs a file that cannot be had: {reason}",
        where=f"the Hub's repository {repo}",
        expected=" or ".join(files),
        fix=f"where there is a connection: hf download {repo} {files[0]}; then name the file as "
        f"{by_hand}",
    )


def url_file(name: str, url: str, by_hand: str) -> tuple[Path, dict[str, str]]:
    """Get the file at an address, kept where torch.hub keeps such files; see :func:`hub_file`."""
    hub = require("torch.hub")
    path = Path(hub.get_dir()) / "checkpoints" / Path(urlparse(url).path).name
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            hub.download_url_to_file(url, str(path), progress=False)
        except OSError as error:  # no connection among them
            raise BackboneError(
                f"{name} needs a file that cannot be had: {error}",
                where=url,
                expected=path.name,
                fix=f"get it where there is a connection, and name the file as {by_hand}",
            ) from None
    return path, {"url": url, "file": path.name}


@contextmanager
def loading(name: str, path: Path) -> Iterator[None]:
    """Turn whatever a library says of a checkpoint that it cannot load into an error of ours."""
    try:
        yield
    except (FSLBenchError, MemoryError):
        raise
    except Exception as error:
        message = " ".join(str(error).split())
        raise BackboneError(
            f"{name} cannot be made of {path.name}: {type(error).__name__}: {message[:300]}",
            where=str(path),
            expected="a checkpoint of that architecture, as its library saves it",
            fix="check that the file belongs to the architecture and is whole",
        ) from error
