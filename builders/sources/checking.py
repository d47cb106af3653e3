"""Check the images that a source has found, and number them."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark_spec.errors import CatalogueError, SourceError, listing
from builders.sources.image_set import About, ImageSet, Item, Progress, images_table, silent
from builders.sources.pictures import check_file, file_of, fragment_of, open_picture
from fslbench_data.files.pictures import Picture, formats

_damaged_kept = ContextVar("damaged_kept", default=False)
keeps_damaged = _damaged_kept.get
"""Return whether damaged images are to be numbered like whole ones."""


@contextmanager
def keeping_damaged() -> Iterator[None]:
    """Let sources number damaged images like whole ones."""
    token = _damaged_kept.set(True)
    try:
        yield
    finally:
        _damaged_kept.reset(token)


def check_and_number(
    name: str,
    about: About,
    folder: Path,
    classes: Mapping[str, Sequence[Item]],
    *,
    expected: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    provenance: Mapping[str, Any] | None = None,
    finish: Callable[[Picture], Picture] | None = None,
    picture: Callable[[str], Picture] | None = None,
    check: Callable[[Path], tuple[str, str]] = check_file,
    progress: Progress = silent,
) -> ImageSet:
    """Compare classes and counts with what is expected, check every file, number the images.

    Parameters
    ----------
    classes
        The items of each class, both in their frozen order; paths are relative to `folder`.
    expected
        Images of each class, in the frozen order of classes; None takes what there is, and then
        no two images may be the same.
    allow_missing
        Leave out what is missing, damaged or there twice, and record it in
        ``provenance["left_out"]``.
    finish
        What is done to a picture after it is read and cropped, such as an inversion.
    picture
        Gives the image at a path, where that is no picture file of its own in the folder.
    check
        Gives the SHA-256 of a file and what is wrong with it ('' if nothing).
    """
    left_out: dict[str, Any] = {}
    sizes = {label: len(items) for label, items in classes.items()}
    check_counts(name, sizes, expected, folder, left_out if allow_missing else None)
    hashes = {file_of(item.path): item.sha256 for items in classes.values() for item in items}
    digests = {path: digest for path, digest in hashes.items() if digest is not None}
    unread, damaged = [path for path in hashes if path not in digests], dict[str, str]()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        looked = threads.map(lambda path: check(folder / path), unread)
        for done, (path, (digest, problem)) in enumerate(zip(unread, looked, strict=True)):
            if problem:
                damaged[path] = problem
            else:
                digests[path] = digest
            if done % 100 == 0:
                progress(f"{name}: {done} of {len(unread)} files read")
    refused = {} if keeps_damaged() else damaged
    if refused and not allow_missing:
        path, problem = next(iter(refused.items()))
        raise SourceError(
            f"{name}: {len(refused)} file{'s' if len(refused) > 1 else ''} of the raw folder "
            f"cannot be read: {path} {problem}",
            where=listing([str(folder / path) for path in refused]),
            expected=f"whole images ({', '.join(formats())})",
            fix="get them again, or leave them out with --allow-missing, which records them",
        )
    if refused:
        left_out["images"] = sorted(refused)
    kept: Mapping[str, Sequence[Item]] = {
        label: [item for item in items if file_of(item.path) not in refused]
        for label, items in classes.items()
    }
    if expected is None:

        def content(item: Item) -> Hashable | None:
            file = file_of(item.path)
            digest = None if file in damaged else item.sha256 or digests[file]
            return digest and (digest, fragment_of(item.path))

        kept, duplicates = without_duplicates(
            name, folder, kept, content, allow_missing=allow_missing
        )
        if duplicates:
            left_out["doubles"] = duplicates
    emptied = [label for label, items in kept.items() if classes[label] and not items]
    if emptied:
        left_out["classes"] = [*left_out.get("classes", ()), *emptied]
    if not any(kept.values()):
        raise SourceError(f"{name}: no images are left", where=str(folder))
    return number_images(
        name,
        about,
        {
            label: [
                item if item.sha256 else replace(item, sha256=digests.get(file_of(item.path)))
                for item in items
            ]
            for label, items in kept.items()
        },
        provenance or {},
        left_out,
        picture or (lambda path: open_picture(folder, path, finish)),
        None if picture or finish else (lambda p: None if fragment_of(p) else folder / p),
    )


def without_duplicates(
    name: str,
    where: Path | str,
    classes: Mapping[str, Sequence[Item]],
    content: Callable[[Item], Hashable | None],
    *,
    allow_missing: bool,
) -> tuple[dict[str, list[Item]], list[str]]:
    """Leave out images that are the same, or refuse them; give also the paths of those left out.

    Of images of one class the first is kept, of those in several classes none.  `content` is what
    two images must share to be the same; None for one that is like no other.
    """
    alike: dict[Hashable, list[tuple[str, Item]]] = {}
    for label, items in classes.items():
        for item in items:
            key = content(item)
            if key is not None:
                alike.setdefault(key, []).append((label, item))
    repeated = [together for together in alike.values() if len(together) > 1]
    if repeated and not allow_missing:
        pairs = [
            f"{one.path} = {other.path}" for (_, one), *others in repeated for _, other in others
        ]
        raise SourceError(
            f"{name}: {len(pairs)} image{'s' if len(pairs) > 1 else ''} of the data set "
            f"repeat{'' if len(pairs) > 1 else 's'} another, byte for byte: {listing(pairs, 4)}",
            where=str(where),
            expected="every image once",
            fix="remove one of each, or use --allow-missing: it keeps the first of each, and none "
            "of those that are in several classes, and records the others",
        )
    gone: set[str] = set()
    for together in repeated:
        several = len({label for label, _ in together}) > 1
        gone |= {item.path for _, item in (together if several else together[1:])}
    return (
        {label: [item for item in v if item.path not in gone] for label, v in classes.items()},
        [item.path for items in classes.values() for item in items if item.path in gone],
    )


_OF_ITEM = ("path", "sha256", "creator", "licence")


def number_images(
    name: str,
    about: About,
    classes: Mapping[str, Sequence[Item]],
    provenance: Mapping[str, Any],
    left_out: Mapping[str, Any],
    picture: Callable[[str], Picture],
    file: Callable[[str], Path | None] | None = None,
) -> ImageSet:
    """Give numbers to the images of classes, in their order; empty classes go."""
    classes = {label: items for label, items in classes.items() if items}
    images = [image for of_class in classes.values() for image in of_class]
    groups: dict[Hashable, int] = {}
    columns = {
        "image_id": range(len(images)),
        "class_id": [i for i, of_class in enumerate(classes.values()) for _ in of_class],
        "class_name": [label for label, of_class in classes.items() for _ in of_class],
        **{k: [getattr(item, k) for item in images] for k in _OF_ITEM},
        "group": [
            None if item.group is None else groups.setdefault(item.group, len(groups))
            for item in images
        ],
    }
    return ImageSet(
        name=name,
        about=about,
        class_names=tuple(classes),
        class_sizes=tuple(map(len, classes.values())),
        images=images_table(columns),
        provenance={**provenance, **({"left_out": dict(left_out)} if left_out else {})},
        picture=picture,
        file=file,
    )


def check_counts(
    name: str,
    counts: Mapping[str, int],
    expected: Mapping[str, int] | None,
    where: Path,
    left_out: dict[str, Any] | None,
) -> None:
    """Compare classes, their order and images with what is expected, or take what there is.

    What is missing is recorded in `left_out`, or refused if that is None; too many are refused.
    """
    if expected is None:
        empty = [label for label, number in counts.items() if not number]
        if not counts or (empty and left_out is None):
            raise SourceError(
                f"{name}: no images of {listing(empty)}" if empty else f"{name}: no classes",
                where=str(where),
                fix="check that the folder is whole",
            )
        if empty and left_out is not None:
            left_out["classes"] = empty
        return
    counts = {label: number for label, number in counts.items() if number}
    fix = "check that the raw folder is whole and of the right version"
    pardon = "; --allow-missing leaves out and records what is missing"
    missing = [label for label in expected if label not in counts]
    if missing and left_out is None:
        raise CatalogueError(
            f"{name}: {len(missing)} of {len(expected)} classes are missing: {listing(missing)}",
            where=str(where),
            fix=fix + pardon,
        )
    if unknown := [label for label in counts if label not in expected]:
        raise CatalogueError(
            f"{name}: unexpected classes: {listing(unknown)}",
            where=str(where),
            expected=listing(list(expected)),
            fix=fix,
        )
    other = [
        f"{label} has {counts[label]} images, not {number}"
        for label, number in expected.items()
        if label in counts and counts[label] != number
    ]
    too_many = any(number > expected[label] for label, number in counts.items())
    if other and (left_out is None or too_many):
        raise CatalogueError(
            f"{name}: {listing(other, most=4)}",
            where=str(where),
            fix=fix + ("" if too_many else pardon),
        )
    if left_out is not None:
        left_out |= {k: v for k, v in (("classes", missing), ("counts", other)) if v}
    order = [label for label in expected if label in counts]
    if list(counts) != order:
        raise CatalogueError(
            f"{name}: classes come in another order than in the catalogue",
            where=str(where),
            expected=listing(order),
        )
