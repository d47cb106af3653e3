"""Read any data set of the Hugging Face Hub, or a local copy, with images and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark_spec.errors import FSLBenchError, SourceError, UnknownNameError, listing
from benchmark_spec.extras import require
from builders.sources.checking import Found, split_checked
from builders.sources.image_set import Item, Progress, in_threads
from builders.sources.lists import labels_of
from builders.sources.pictures import check_bytes
from builders.sources.raw_files import image_files
from builders.sources.source import Source
from fslbench_data.pictures import decode


def find(
    source: Source,
    _: Path,
    progress: Progress,
    *,
    repo: str,
    split: str,
    image: str = "image",
    label: str = "label",
    text: str = "",
    config: str | None = None,
    revision: str | None = None,
) -> Found:
    """Find the images of a split: classes in the order of the label's names, images by row.

    Labels that are no ``ClassLabel`` become texts, and are sorted.  The `path` of an image is
    ``<split>#<row>``, its `sha256` that of the encoded image.

    Parameters
    ----------
    repo
        ``owner/name`` on the Hub, or a folder.
    split, image, label, text, config
        Names of the split, of its columns and of the repository's config, if it has several.  The
        optional column of texts, such as captions, is for attributes that are words.
    revision
        Branch, tag or commit; its commit is recorded.
    """
    commit = _commit(repo, revision)
    rows = _load(repo, config, split, commit)
    for column in (image, label, *([text] if text else [])):
        if column not in rows.column_names:
            where = f"{repo}, {split}"
            raise UnknownNameError("column", column, rows.column_names, where=where)
    fingerprint = rows._fingerprint if commit else None  # a folder's depends on times of files
    labels, class_names, unusable = labels_of(rows.select_columns(label), label)
    texts = _texts(rows.select_columns(text), text, split) if text else None
    with _refusing(f"{repo}: column {image!r} holds no images"):
        encoded = require("datasets").Image(decode=False)
        rows = rows.select_columns(image).cast_column(image, encoded)
    first = (len(rows) and rows[0][image]) or {}
    if commit is None and first.get("path") and first.get("bytes") is None:
        _check_none_passed_over(Path(repo))
    text = f"{source.name}: {{}} of {len(rows)} rows read"
    checked = in_threads(_check, (row[image] for row in rows), progress, text)
    digests, damaged = split_checked(range(len(rows)), checked)
    unusable |= damaged
    classes: dict[str, list[Item]] = {class_name: [] for class_name in class_names}
    for row, class_name in enumerate(labels):
        if row not in unusable:
            classes[class_name].append(Item(f"{split}#{row}", sha256=digests.get(row)))

    def content(path: str) -> bytes:
        return _encoded(rows[int(path.rpartition("#")[2])][image] or {})

    return Found(
        classes,
        repo,
        provenance={
            "repository": repo if commit else Path(repo).name,
            "config": config,
            "split": split,
            "revision": commit,
            "fingerprint": fingerprint,
            "packages": {"datasets": require("datasets").__version__},
            "order": "classes as the label names them, images by row",
        },
        unusable={f"{split}#{row}": unusable[row] for row in sorted(unusable)},
        check=None,
        picture=lambda path: decode(content(path)),
        content=content,
        texts=texts,
    )


def _texts(rows: Any, column: str, split: str) -> dict[str, str]:
    """Read the text of each row that has one, by the path of its image."""
    values = list(rows[column])
    if any(value is not None and not isinstance(value, str) for value in values):
        raise SourceError(
            f"column {column!r} holds no texts",
            expected="a text in each row, or nothing",
            fix="name the column of texts, or leave the option `text` out",
        )
    texts = {f"{split}#{row}": (value or "").strip() for row, value in enumerate(values)}
    return {path: text for path, text in texts.items() if text}


@contextmanager
def _refusing(what: str, fix: str = "") -> Iterator[None]:
    """Turn any error of `datasets` or the Hub, which have no common class, into a SourceError."""
    try:
        yield
    except FSLBenchError:
        raise
    except Exception as error:
        of_datasets = type(error).__module__.startswith("datasets")  # its message names no cause
        cause = (error.__cause__ if of_datasets else None) or error
        problem = next(iter(str(cause).splitlines()), "") or type(cause).__name__
        raise SourceError(f"{what}: {problem}", fix=fix) from error


def _commit(repo: str, revision: str | None) -> str | None:
    """Return the commit that a revision of a repository names now; None for a folder."""
    if Path(repo).is_dir():
        if revision is not None:
            raise SourceError(f"{repo} is a folder, which has no revision {revision!r}")
        return None
    with _refusing(
        f"{repo} is no folder, and no data set of the Hub that can be read",
        fix="check its name, the network, and that you may read it (hf auth login)",
    ):
        commit: str = require("huggingface_hub").HfApi().dataset_info(repo, revision=revision).sha
    return commit


def _load(repo: str, config: str | None, split: str, commit: str | None) -> Any:
    """Return the split as a ``datasets.Dataset``."""
    datasets = require("datasets")
    with _refusing(f"{repo} cannot be read"):
        configs = datasets.get_dataset_config_names(repo, revision=commit)
    if config is not None and config not in configs:
        raise UnknownNameError("config", config, configs, where=repo)
    if config is None and len(configs) > 1 and "default" not in configs:
        raise SourceError(
            f"{repo} has several configs", expected=f"one of {listing(configs)}", fix="name one"
        )
    with _refusing(f"{repo} cannot be read"):
        splits = datasets.get_dataset_split_names(repo, config, revision=commit)
    if split not in splits:
        raise UnknownNameError("split", split, splits, where=repo)
    with _refusing(f"{repo} cannot be loaded"):
        return datasets.load_dataset(repo, config, split=split, revision=commit)


def _check_none_passed_over(folder: Path) -> None:
    """Refuse a folder with pictures of endings that `datasets` passes over."""
    known = require("datasets.packaged_modules.imagefolder.imagefolder").ImageFolder.EXTENSIONS
    pictures = image_files(folder, "", deep=True)
    passed_over = [path for path in pictures if Path(path).suffix.lower() not in known]
    if passed_over:
        raise SourceError(
            f"{len(passed_over)} of {len(pictures)} pictures are of endings that datasets passes "
            f"over: {listing(passed_over, 4)}",
            where=str(folder),
            expected="endings such as .jpg and .png",
            fix="rename them, or read the folder with the source image_folder",
        )


def _check(entry: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the SHA-256 of a row's encoded image and its problem; one of both is ''."""
    try:
        data = _encoded(entry or {})
    except OSError as error:
        return "", f"cannot be opened: {error.strerror}"
    return check_bytes(data) if data else ("", "has no image")


def _encoded(entry: Mapping[str, Any]) -> bytes:
    """Return an encoded image: its bytes from the table, or else from its file."""
    data: bytes | None = entry.get("bytes")
    if data is None and entry.get("path"):
        return Path(entry["path"]).read_bytes()
    return data or b""
