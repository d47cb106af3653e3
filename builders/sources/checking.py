"""Check the images that a source has found, and number them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
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
from fslbench_data.files.pictures import Picture, formats

K = TypeVar("K")


@dataclass(frozen=True)
class Found(Known):
    """What a source finds in a raw folder, in the frozen order of classes and images.

    Attributes
    ----------
    classes
        The items of each class, with paths relative to `place`; or, with `table`, their numbers.
    place
        The raw folder, or what errors call it.
    expected
        Images of each class, in the frozen order of classes; None takes what there is, and then
        no two images may be the same.
    provenance, about
        How they were found; and the description of this part of a data set.
    unusable
        What is wrong with images that the source has looked at, by path.
    check
        Gives the SHA-256 of a file and what is wrong with it ('' if nothing); None if there are no
        files to look at.
    picture, finish
        Gives the image at a path, where that is no picture file of its own in the folder; or what
        is done to a picture after it is read and cropped, such as an inversion.
    table
        Makes the images table of classes of some sizes.
    superclass_of
        The superclass of each class.
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
    """Compare classes and counts with what is expected, check every file, number the images.

    With `allow_missing`, what is missing, damaged or there twice is left out, and recorded in
    ``provenance["left_out"]``.
    """
    left_out: dict[str, Any] = {}
    folder, above, finish = Path(found.place), found.superclass_of, found.finish

    def leave_out(damaged: Mapping[str, str], one: str, several: str) -> None:
        if damaged and not allow_missing:
            path, problem = next(iter(damaged.items()))
            raise SourceError(
                f"{name}: {len(damaged)} {several if len(damaged) > 1 else one}: {path} {problem}",
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
        digests, damaged = _look_at_files(name, found, progress)
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
        superclasses=tuple(above[label] for label in sizes) if above else None,
        **{one.name: getattr(found, one.name) for one in fields(Known)},
    )


def _look_at_files(
    name: str, found: Found, progress: Progress
) -> tuple[dict[str, str], dict[str, str]]:
    """Give the SHA-256 of each file where it is not known, or what is wrong with it."""
    folder, check = Path(found.place), found.check
    if check is None:
        return {}, {}
    every = (item for items in found.classes.values() for item in items)
    unread = dict.fromkeys(file_of(item.path) for item in every if item.sha256 is None)
    text = f"{name}: {{}} of {len(unread)} files read"
    looked = in_threads(lambda path: check(folder / path), unread, progress, text)
    return told_apart(unread, looked)


def told_apart(
    keys: Iterable[K], looked: Iterable[tuple[str, str]]
) -> tuple[dict[K, str], dict[K, str]]:
    """Give the SHA-256 of what is whole, and what is wrong with the rest."""
    digests, damaged = dict[K, str](), dict[K, str]()
    for key, (digest, problem) in zip(keys, looked, strict=True):
        (damaged if problem else digests)[key] = problem or digest
    return digests, damaged


def without_duplicates(
    name: str, where: Path | str, classes: Mapping[str, Sequence[Item]], *, allow_missing: bool
) -> tuple[dict[str, list[Item]], list[str]]:
    """Leave out images that are the same, or refuse them; give also the paths of those left out.

    Of images of one class the first is kept, of those in several classes none.
    """
    alike: dict[str, list[tuple[str, Item]]] = {}
    for label, items in classes.items():
        for item in items:
            if item.sha256 is not None:
                alike.setdefault(item.sha256, []).append((label, item))
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


def _numbered(classes: Mapping[str, Sequence[Item]]) -> pa.Table:
    """Give numbers to the images of classes, in their order; empty classes go."""
    classes = {label: items for label, items in classes.items() if items}
    images = [image for of_class in classes.values() for image in of_class]
    groups: dict[Hashable, int] = {}
    columns = {
        "image_id": range(len(images)),
        "class_id": [i for i, of_class in enumerate(classes.values()) for _ in of_class],
        "class_name": [label for label, of_class in classes.items() for _ in of_class],
        "group": [
            None if item.group is None else groups.setdefault(item.group, len(groups))
            for item in images
        ],
    }
    of_item = "path", "sha256", "creator", "licence"
    return images_table(columns | {k: [getattr(item, k) for item in images] for k in of_item})


def check_counts(
    name: str,
    counts: Mapping[str, int],
    expected: Mapping[str, int] | None,
    where: Path | str,
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
                fix="check that it is whole, or leave empty classes out with --allow-missing",
            )
        if empty and left_out is not None:
            left_out["classes"] = empty
        return
    counts = {label: number for label, number in counts.items() if number}
    fix = "check that the raw folder is whole and of the right version"
    pardon = "; --allow-missing leaves out and records what is missing"
    missing = [label for label in expected if label not in counts]
    if missing and left_out is None:
        raise SourceError(
            f"{name}: {len(missing)} of {len(expected)} classes are missing: {listing(missing)}",
            where=str(where),
            fix=fix + pardon,
        )
    if unknown := [label for label in counts if label not in expected]:
        raise SourceError(
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
        raise SourceError(
            f"{name}: {listing(other, most=4)}",
            where=str(where),
            fix=fix + ("" if too_many else pardon),
        )
    if left_out is not None:
        left_out |= {k: v for k, v in (("classes", missing), ("counts", other)) if v}
    order = [label for label in expected if label in counts]
    if list(counts) != order:
        raise SourceError(
            f"{name}: classes come in another order than in the catalogue",
            where=str(where),
            expected=listing(order),
        )
