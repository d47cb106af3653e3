"""Any data set of the Hugging Face Hub, or a local copy, with a column of images and of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark_spec.errors import FSLBenchError, SourceError, UnknownNameError, listing
from benchmark_spec.extras import require
from builders.sources.checking import keeps_damaged, number_images, without_duplicates
from builders.sources.image_set import ABOUT_OPTIONS, About, ImageSet, Item, Progress, silent
from builders.sources.lists import labels_of
from builders.sources.pictures import check_bytes
from builders.sources.raw_files import image_files
from fslbench_data.files.pictures import decode, formats

LAYOUT = "whatever datasets.load_dataset reads: a repository of the Hub, or a folder of Parquet"
OPTIONS = (
    (*ABOUT_OPTIONS[:4], "repo", "split"),
    (*ABOUT_OPTIONS[4:], "image", "label", "text", "config", "revision"),
)
BATCH = 256
"""Rows that are held in memory at a time."""


def read(
    repo: str | Path,
    *,
    name: str,
    about: About,
    split: str,
    image: str = "image",
    label: str = "label",
    text: str = "",
    config: str | None = None,
    revision: str | None = None,
    allow_missing: bool = False,
    progress: Progress = silent,
) -> ImageSet:
    """Read a split: classes in the order of the label's names, images in the order of rows.

    Labels that are no ``ClassLabel`` are taken as text, and sorted.  The `path` of an image is
    ``<split>#<row>``, its `sha256` that of the encoded image.

    Parameters
    ----------
    repo
        ``owner/name`` on the Hub, or a folder.
    split, image, label, text, config
        Names of the split, of its columns and of the repository's config, if it has several.  The
        column of texts, such as captions, is for attributes that are words; there may be none.
    revision
        Branch, tag or commit; the commit that it stands for is recorded.
    allow_missing
        Leave out rows without label, damaged images and duplicates, and record them.
    """
    where = f"{repo}, {split}"
    commit = _commit(str(repo), revision)
    rows = _load(str(repo), config, split, commit)
    for column in (image, label, *([text] if text else [])):
        if column not in rows.column_names:
            raise UnknownNameError("column", column, rows.column_names, where=where)
    fingerprint = rows._fingerprint if commit else None  # a folder's is of its files' times
    labels, class_names, missing = labels_of(rows.select_columns(label), label)
    texts = _texts(rows.select_columns(text), text, split) if text else None
    with _refusing(f"{repo}: column {image!r} holds no images"):
        encoded = require("datasets").Image(decode=False)
        rows = rows.select_columns(image).cast_column(image, encoded)
    first = (len(rows) and rows[0][image]) or {}
    if commit is None and first.get("path") and first.get("bytes") is None:
        _check_none_passed_over(Path(repo))
    digests, damaged = _look_at_images(rows, image, name, progress)
    if keeps_damaged():
        damaged = {}
    damaged = missing | damaged
    if damaged and not allow_missing:
        row = min(damaged)
        raise SourceError(
            f"{name}: {len(damaged)} of {len(rows)} rows cannot be used: row {row} {damaged[row]}",
            where=f"{where}: {listing(sorted(damaged))}",
            expected=f"a whole image ({', '.join(formats())}) and a label in every row",
            fix="leave them out with --allow-missing, which records them",
        )
    classes: dict[str, list[Item]] = {of_class: [] for of_class in class_names}
    for row, of_row in enumerate(labels):
        if row not in damaged:
            classes[of_row].append(Item(f"{split}#{row}", sha256=digests.get(row)))
    classes, duplicates = without_duplicates(
        name, where, classes, lambda item: item.sha256, allow_missing=allow_missing
    )
    empty = [of_class for of_class, items in classes.items() if not items]
    if len(empty) == len(classes) or (empty and not allow_missing):
        raise SourceError(
            f"{name}: no images of {listing(empty)}" if empty else f"{name}: no rows with labels",
            where=where,
            fix="choose another split, or leave these classes out with --allow-missing",
        )
    left_out = {
        "classes": empty,
        "images": [f"{split}#{row}" for row in sorted(damaged)],
        "doubles": duplicates,
    }

    def content(path: str) -> bytes:
        return _encoded(rows[int(path.rpartition("#")[2])][image])

    images = number_images(
        name,
        about,
        classes,
        {
            "repository": str(repo) if commit else Path(repo).name,
            "config": config,
            "split": split,
            "revision": commit,
            "fingerprint": fingerprint,
            "packages": {"datasets": require("datasets").__version__},
            "order": "classes as the label names them, images by row",
        },
        {reason: names for reason, names in left_out.items() if names},
        lambda path: decode(content(path)),
    )
    return replace(images, content=content, texts=texts)


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
    """Give whatever `datasets` or the Hub raise, which has no common kind, as a SourceError."""
    try:
        yield
    except FSLBenchError:
        raise
    except Exception as error:
        own = type(error).__module__.startswith("datasets")  # its message names no cause
        cause = (error.__cause__ if own else None) or error
        problem = next(iter(str(cause).splitlines()), "") or type(cause).__name__
        raise SourceError(f"{what}: {problem}", fix=fix) from error


def _commit(repo: str, revision: str | None) -> str | None:
    """Return the commit that a revision of a repository stands for now; None for a folder."""
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
    """Refuse a folder of pictures some of which `datasets` passes over, by the endings it knows."""
    known = require("datasets.packaged_modules.imagefolder.imagefolder").ImageFolder.EXTENSIONS
    pictures = image_files(folder, "", deep=True)
    lost = [path for path in pictures if Path(path).suffix.lower() not in known]
    if lost:
        raise SourceError(
            f"{len(lost)} of {len(pictures)} pictures are of endings that datasets passes over: "
            f"{listing(lost, 4)}",
            where=str(folder),
            expected="endings such as .jpg and .png",
            fix="rename them, or read the folder with the source image_folder",
        )


def _look_at_images(
    rows: Any, column: str, name: str, progress: Progress
) -> tuple[dict[int, str], dict[int, str]]:
    """Hash each row's encoded image; gives also what is wrong with those that cannot be used."""
    digests: dict[int, str] = {}
    damaged: dict[int, str] = {}
    with ThreadPoolExecutor() as threads:
        for first in range(0, len(rows), BATCH):
            progress(f"{name}: {first} of {len(rows)} rows read")
            batch = rows[first : first + BATCH][column]
            for row, (digest, problem) in enumerate(threads.map(_check, batch), start=first):
                if problem:
                    damaged[row] = problem
                else:
                    digests[row] = digest
    return digests, damaged


def _check(entry: Mapping[str, Any] | None) -> tuple[str, str]:
    try:
        data = _encoded(entry)
    except OSError as error:
        return "", f"cannot be opened: {error.strerror}"
    return check_bytes(data) if data else ("", "has no image")


def _encoded(entry: Mapping[str, Any] | None) -> bytes:
    """Return an undecoded image: its bytes where the table holds them, else those of its file."""
    if entry is None:
        return b""
    data: bytes | None = entry.get("bytes")
    if data is None:
        data = Path(entry["path"]).read_bytes() if entry.get("path") else b""
    return data
