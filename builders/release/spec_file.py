"""The file that a release is made from, SPEC.toml (docs/releases.md)."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from benchmark_spec.declared import declared_in, read_toml
from benchmark_spec.errors import FSLBenchError, SourceError, SpecError, UnknownNameError, listing
from benchmark_spec.manifest import Manifest, check_manifest
from benchmark_spec.naming import check_attribute_set_name, check_dataset_name
from benchmark_spec.protocol import Protocol, suite_of, suites_of, task_sets_of
from builders.attributes.recipe import Recipe
from builders.query_size.draws import Draws
from builders.release.spec import LEFT_OPEN, DatasetSpec, ReleaseSpec
from builders.sources import GENERAL
from builders.sources.image_folder import list_images
from builders.sources.lists import LISTS
from fslbench_data.render.templating import template

HEADERS = {option: ",".join(columns[:2]) for option, columns in LISTS.items()}
"""By option of an image folder that names a CSV file, the file's header."""

WAYS = 5


def first_spec(folder: Path, file: str = "") -> str:
    """Write a specification for one image folder, as far as the folder determines it.

    `file` is the file name in the commands of its comments, by default made of the data set's name.
    """
    sizes = [len(paths) for paths in list_images(folder)[0].values()]
    name = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_") or "my_images"
    name = name if name[0].isalpha() else f"d_{name}"
    ways = min(WAYS, len(sizes))
    if ways < 2:
        raise SourceError(
            "one class gives no tasks",
            where=str(folder),
            expected="a folder of images for each of two classes or more",
        )
    protocols = [
        f"{ways}w{shot}s"
        for shot in (1, 5, 10)
        if Draws(name, "open", ways, shot, tuple(sizes)).estimates_variances
    ]
    return template("release/templates/first_spec.toml.j2", "builders").render(
        name=name,
        folder=folder.resolve().name,
        raw=shlex.quote(str(folder.resolve().parent)),
        file=shlex.quote(file or f"{name}.toml"),
        sizes=sizes,
        chosen=bool(protocols),
        protocols=protocols or [f"{ways}w1s1q"],
        lists=[key for key in HEADERS if _is_list(folder / f"{key}.csv", HEADERS[key])],
        known_lists=HEADERS,
    )


def _is_list(file: Path, header: str) -> bool:
    """Return whether a file exists and begins with a header."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            return lines.readline().strip() == header
    except (OSError, UnicodeDecodeError):
        return False


OPTIMAL = "optimal"
"""The value of `queries` for a :class:`builders.release.spec.QuerySpec` of defaults."""


class _SpecFile(Struct, forbid_unknown_fields=True):
    """A specification as its file has it; the fields after `dataset` are for every data set."""

    name: Annotated[str, Meta(description='name = "..."')]
    version: Annotated[str, Meta(description='version = "..."')]
    description: Annotated[str, Meta(description='description = "..."')]
    dataset: Annotated[
        list[dict[str, Any]], Meta(min_length=1, description="data sets, as [[dataset]] tables")
    ]
    protocols: Any = UNSET
    seed: Any = UNSET
    tasks: Any = UNSET
    queries: Any = UNSET
    drawn: Any = UNSET


def find_spec(path: Path) -> Path:
    """Return the file at `path`, or the package's specification of that name."""
    shipped = {file.stem: file for file in Path(str(files("builders") / "specs")).glob("*.toml")}
    if not path.is_file() and str(path) in shipped:
        return shipped[str(path)]
    if not path.exists() and not path.suffix:
        raise UnknownNameError("specification", str(path), shipped, fix="or name a file")
    return path


def read_spec(path: Path) -> ReleaseSpec:
    """Read and check a specification, given by its file or by its name in the package.

    Errors name the file, the field and what was expected.
    """
    path = find_spec(path)
    where = str(path)
    raw = read_toml(path)
    file = declared_in(raw, _SpecFile, where)
    defaults = {key: raw[key] for key in _SpecFile.__struct_fields__[4:] if key in raw}
    try:
        check_manifest(Manifest(file.name, file.version, file.description, (), ()))
    except FSLBenchError as error:
        raise SpecError(error.what, where=where, expected=error.expected) from None
    _declared({"name": "any", **defaults}, where)  # so that errors do not name a data set
    datasets = tuple(
        _dataset({**defaults, **entry}, f"{where}, data set {number}")
        for number, entry in enumerate(file.dataset, 1)
    )
    if twice := _twice(dataset.name for dataset in datasets):
        raise SpecError(f"data sets are listed twice: {', '.join(twice)}", where=where)
    return ReleaseSpec(file.name, file.version, file.description, datasets)


def _twice(names: Iterable[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


def _declared(raw: dict[str, Any], where: str) -> DatasetSpec:
    """Read the fields of a data set, and check the suites that they name."""
    raw = {**raw, "queries": {}} if raw.get("queries") == OPTIMAL else raw
    spec = declared_in(raw, DatasetSpec, where)
    for suite in (*spec.tasks, *spec.drawn):
        suite_of(suite, where)
    return spec


def _dataset(raw: dict[str, Any], where: str) -> DatasetSpec:
    spec = _declared(raw, where)
    check_dataset_name(spec.name)
    spec = replace(
        spec,
        suites=tuple(chain.from_iterable(suites_of(suite, where) for suite in spec.suites)),
        task_sets=tuple(chain.from_iterable(_task_sets(name, where) for name in spec.task_sets)),
    )
    for name, recipe in spec.attributes.items():
        check_attribute_set_name(name, where)
        Recipe.parse(recipe, f"{where}, attributes.{name}")
    if twice := _twice(spec.declared_task_sets):
        raise SpecError(f"task sets are listed twice: {listing(twice, 4)}", where=where)
    for name in filter(LEFT_OPEN.fullmatch, spec.declared_task_sets):
        if suite_of(name.rpartition("-")[0], where).whole:
            raise SpecError(
                f"{name} says no number of queries",
                where=where,
                expected=f"{name}<all queries of a task>q, such as allway-10w16s1637q",
            )
    if spec.left_open and spec.queries is None:
        way, shot = spec.left_open[0]
        raise SpecError(
            f"{way}w{shot}s says no number of queries",
            where=where,
            expected=f'{way}w{shot}s5q, or queries = "optimal" for one to be chosen',
        )
    for protocol in spec.filled.protocols if not spec.suites else ():
        Protocol.parse(protocol)
    spec.filled.every_task_set  # noqa: B018 - which parses them
    source = spec.source or spec.name
    folder = spec.folder or (spec.name if source in GENERAL else source)
    return replace(spec, source=source, folder=folder)


def _task_sets(name: str, where: str) -> tuple[str, ...]:
    """List the task sets that a name stands for, as :func:`task_sets_of`; Q may be open."""
    match = LEFT_OPEN.fullmatch(name)
    if match is None or not match[1]:
        return task_sets_of(name, where)
    return tuple(f"{suite}-{match[2]}w{match[3]}s" for suite in suites_of(match[1], where))
