"""Check the images that a source has found, and number them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from benchmark_spec.errors import SourceError, listing
from builders.sources.image_set import (
    About,
    ImageSet,
    Item,
    Known,
    Progress,
    images_table,
    in_threads,
    silent,
)
from builders.sources.pictures import check_file, file_of, fragment_of, open_picture
from fslbench_data.pictures import Picture, formats

K = TypeVar("K")


@dataclass(frozen=True)
class Found(Known):
    """What a source finds in a raw folder, in the frozen order of classes and images.

    Attributes
    ----------
    classes
        The items of each class, with paths relative to `place`; or, with `table`, their numbers.
    place
        The raw folder, or its name in errors.
    expected
        Images of each class, in the frozen order of classes; None accepts all images, but no two
        that are the same.
    provenance, about
        How images were found, and the description of this part of a data set.
    unusable
        The problems of images that the source has read itself, by path.
    check
        Returns the SHA-256 of a file and its problem ('' if none); None if no files are checked.
    picture, finish
        Returns the image at a path that is no picture file; or changes a picture after it is read
        and cropped, such as by an inversion.
    table
        Makes the images table of classes of some sizes.
    """

    classes: Mapping[str, Sequence[Any]]
    place: Path | str
    expected: Mapping[str, int] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    about: About | None = None
    unusable: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Path], tuple[str, str]] | None = check_file
    picture: Callable[[str], Picture] | None = None
    finish: Callable[[Picture], Picture] | None = None
    table: Callable[[Mapping[str, int], Progress], pa.Table] | None = None
    superclass_of: Mapping[str, str] | None = None


def check_and_number(
    name: str, about: About, found: Found, *, allow_missing: bool, progress: Progress = silent
) -> ImageSet:
    """Compare classes and counts with the expected ones, check every file, number the images.

    With `allow_missing`, missing, damaged and repeated images are left out, and recorded in
    ``provenance["left_out"]``.
    """
    left_out: dict[str, Any] = {}
    folder, superclass_of, finish = Path(found.place), found.superclass_of, found.finish

    def leave_out(damaged: Mapping[str, str], singular: str, plural: str) -> None:
        if damaged and not allow_missing:
            path, problem = next(iter(damaged.items()))
            what = plural if len(damaged) > 1 else singular
            raise SourceError(
                f"{name}: {len(damaged)} {what}: {path} {problem}",
                where=listing([f"{found.place}/{path}" for path in damaged]),
                expected=f"whole images ({', '.join(formats())})",
                fix="get them again, or leave them out with --allow-missing, which records them",
            )
        if damaged:
            left_out["images"] = sorted(damaged)

    unusable = "of the data set cannot be used"
    leave_out(found.unusable, f"entry {unusable}", f"entries {unusable}")
    sizes = {label: len(items) for label, items in found.classes.items()}
    check_counts(name, sizes, found.expected, found.place, left_out if allow_missing else None)
    kept = found.classes
    if found.table is None:
        digests, damaged = _check_files(name, found, progress)
        unread = "of the raw folder cannot be read"
        leave_out(damaged, f"file {unread}", f"files {unread}")
        kept = {
            label: [
                item if item.sha256 else replace(item, sha256=digests.get(file_of(item.path)))
                for item in items
                if file_of(item.path) not in damaged
            ]
            for label, items in kept.items()
        }
        if found.expected is None:
            kept, doubles = without_duplicates(name, folder, kept, allow_missing=allow_missing)
            left_out |= {"doubles": doubles} if doubles else {}
        if emptied := [label for label, items in kept.items() if sizes[label] and not items]:
            left_out["classes"] = [*left_out.get("classes", ()), *emptied]
    sizes = {label: len(items) for label, items in kept.items() if items}
    if not sizes:
        raise SourceError(f"{name}: no images are left", where=str(found.place))
    as_files = found.picture is None and finish is None
    return ImageSet(
        name=name,
        about=about,
        class_names=tuple(sizes),
        class_sizes=tuple(sizes.values()),
        images=found.table(sizes, progress) if found.table else _numbered(kept),
        provenance={**found.provenance, **({"left_out": left_out} if left_out else {})},
        picture=found.picture or (lambda path: open_picture(folder, path, finish)),
        file=(lambda path: None if fragment_of(path) else folder / path) if as_files else None,
        superclasses=tuple(superclass_of[label] for label in sizes) if superclass_of else None,
        **{field.name: getattr(found, field.name) for field in fields(Known)},
    )


def _check_files(
    name: str, found: Found, progress: Progress
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the SHA-256 of each whole file that has none yet, and the problem of each other."""
    folder, check = Path(found.place), found.check
    if check is None:
        return {}, {}
    items = chain.from_iterable(found.classes.values())
    unread = dict.fromkeys(file_of(item.path) for item in items if item.sha256 is None)
    text = f"{name}: {{}} of {len(unread)} files read"
    checked = in_threads(lambda path: check(folder / path), unread, progress, text)
    return split_checked(unread, checked)


def split_checked(
    keys: Iterable[K], checked: Iterable[tuple[str, str]]
) -> tuple[dict[K, str], dict[K, str]]:
    """Split pairs of SHA-256 and problem into the digests of whole images and the problems."""
    digests, damaged = dict[K, str](), dict[K, str]()
    for key, (digest, problem) in zip(keys, checked, strict=True):
        if problem:
            damaged[key] = problem
        else:
            digests[key] = digest
    return digests, damaged


def without_duplicates(
    name: str, where: Path | str, classes: Mapping[str, Sequence[Item]], *, allow_missing: bool
) -> tuple[dict[str, list[Item]], list[str]]:
    """Leave out or refuse images that are the same; returns also the paths of those left out.

    The first of the same images is kept if all are of one class, else none.
    """
    by_digest: dict[str, list[tuple[str, Item]]] = {}
    for label, items in classes.items():
        for item in items:
            if item.sha256 is not None:
                by_digest.setdefault(item.sha256, []).append((label, item))
    repeated = [same for same in by_digest.values() if len(same) > 1]
    if repeated and not allow_missing:
        pairs = [
            f"{first.path} = {other.path}"
            for (_, first), *others in repeated
            for _, other in others
        ]
        raise SourceError(
            f"{name}: {len(pairs)} image{'s' if len(pairs) > 1 else ''} of the data set "
            f"repeat{'' if len(pairs) > 1 else 's'} another, byte for byte: {listing(pairs, 4)}",
            where=str(where),
            expected="every image once",
            fix="remove one of each, or use --allow-missing: it keeps the first of each, and none "
            "of those that are in several classes, and records the others",
        )
    removed: set[str] = set()
    for same in repeated:
        in_several_classes = len({label for label, _ in same}) > 1
        removed |= {item.path for _, item in (same if in_several_classes else same[1:])}
    kept = {
        label: [item for item in items if item.path not in removed]
        for label, items in classes.items()
    }
    every_item = chain.from_iterable(classes.values())
    return kept, [item.path for item in every_item if item.path in removed]


def _numbered(classes: Mapping[str, Sequence[Item]]) -> pa.Table:
    """Make the images table of classes in their order, without empty ones."""
    classes = {label: items for label, items in classes.items() if items}
    images = list(chain.from_iterable(classes.values()))
    groups: dict[Hashable, int] = {}
    columns: dict[str, Sequence[Any]] = {
        "image_id": range(len(images)),
        "class_id": [number for number, items in enumerate(classes.values()) for _ in items],
        "class_name": [label for label, items in classes.items() for _ in items],
        "group": [
            None if item.group is None else groups.setdefault(item.group, len(groups))
            for item in images
        ],
    }
    for column in ("path", "sha256", "creator", "licence"):
        columns[column] = [getattr(item, column) for item in images]
    return images_table(columns)


def check_counts(
    name: str,
    counts: Mapping[str, int],
    expected: Mapping[str, int] | None,
    where: Path | str,
    left_out: dict[str, Any] | None,
) -> None:
    """Compare classes, their order and numbers of images with the expected ones, if there are any.

    Missing classes and images are recorded in `left_out`, or refused if it is None; too many are
    refused.
    """
    if expected is None:
        empty = [label for label, number in counts.items() if not number]
        if not counts or (empty and left_out is None):
            raise SourceError(
                f"{name}: no images of {listing(empty)}" if empty else f"{name}: no classes",
                where=str(where),
                fix="check that it is whole, or leave empty classes out with --allow-missing",
            )
        if empty and left_out is not None:
            left_out["classes"] = empty
        return
    counts = {label: number for label, number in counts.items() if number}
    fix = "check that the raw folder is whole and of the right version"
    or_allow = "; --allow-missing leaves out and records what is missing"
    missing = [label for label in expected if label not in counts]
    if missing and left_out is None:
        raise SourceError(
            f"{name}: {len(missing)} of {len(expected)} classes are missing: {listing(missing)}",
            where=str(where),
            fix=fix + or_allow,
        )
    if unknown := [label for label in counts if label not in expected]:
        raise SourceError(
            f"{name}: unexpected classes: {listing(unknown)}",
            where=str(where),
            expected=listing(list(expected)),
            fix=fix,
        )
    differing = [
        f"{label} has {counts[label]} images, not {number}"
        for label, number in expected.items()
        if label in counts and counts[label] != number
    ]
    too_many = any(number > expected[label] for label, number in counts.items())
    if differing and (left_out is None or too_many):
        raise SourceError(
            f"{name}: {listing(differing, most=4)}",
            where=str(where),
            fix=fix + ("" if too_many else or_allow),
        )
    if missing and left_out is not None:
        left_out["classes"] = missing
    if differing and left_out is not None:
        left_out["counts"] = differing
    order = [label for label in expected if label in counts]
    if list(counts) != order:
        raise SourceError(
            f"{name}: classes come in another order than in the catalogue",
            where=str(where),
            expected=listing(order),
        )
