"""The declarative file that a release is made from: SPEC.toml.

.. code-block:: toml

    name = "my_release"
    version = "1.0.0"
    description = "What it is for."

    # for every data set that does not say otherwise:
    protocols = ["5w1s1q", "5w5s5q"]
    seed = 0
    tasks = { closed = 600 }           # how many, for suites that do not stop by themselves

    [[dataset]]
    name = "openclipart"               # a source of builders.sources, read below the raw folder
    suites = ["open", "closed", "balanced"]
    attributes = { titles = "given+textblob", pixels = "pixels" }   # a name each, and a recipe
    task_sets = ["open_ladder_titles-5w5s5q"]   # more, at one protocol; here all steps of a ladder

    [[dataset]]
    name = "cub"
    source = "catalogue"               # classes and counts only
    suites = ["published"]
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmark_spec.declared import parsed_toml
from benchmark_spec.errors import SpecError, UnknownNameError, listing
from benchmark_spec.naming import check_attribute_set_name, check_dataset_name
from benchmark_spec.protocol import (
    PUBLISHED_PROTOCOLS,
    Protocol,
    Suite,
    TaskSetName,
    suite_of,
    suites_of,
    task_sets_of,
)
from builders.attributes.recipe import Recipe
from builders.sampling import SAMPLER_VERSION

CATALOGUE = "catalogue"
"""The source of a data set known by its classes and counts."""


@dataclass(frozen=True)
class FineTuningSpec:
    """``fine_tuning = { backbones = ["..."], task_sets = ["open-5w5s5q"], max_tasks = 20 }``.

    Attributes
    ----------
    backbones
        Networks that are fine-tuned.
    task_sets
        On which task sets of the data set.
    max_tasks
        Only the first few tasks of each; all unless given.
    """

    backbones: tuple[str, ...]
    task_sets: tuple[str, ...]
    max_tasks: int | None = None


@dataclass(frozen=True)
class DatasetSpec:
    """What a release holds of one data set.

    Attributes
    ----------
    name, source
        Of the data set in the release, and the module of :mod:`builders.sources` that reads it
        (the same name unless given), or ``catalogue`` for classes and counts only.
    folder
        Its raw folder, relative to that of all; the source's name unless given.
    suites, protocols, task_sets, seed, tasks
        The task sets: every suite at every protocol, and more by their whole names.  In both,
        ``ladder_<attributes>`` and ``counterfactual_<attributes>`` stand for all steps
        (:func:`benchmark_spec.protocol.suites_of`).  `tasks` says how many by suite.
    attributes
        Sets of attributes of the images by name, each with its recipe
        (:mod:`builders.attributes.recipe`).  The name is a word, part of suites' names.
    features
        Backbones whose features the release holds.  A name such as ``efficientnet_lite0-pca128``
        asks for a backbone's features projected to so many dimensions
        (:mod:`builders.features.compress`); the backbone's own are in the release only if they are
        named too.
    backbones
        More backbones for the reference methods, whose features the release does not hold.
    heads
        Reference methods to run on the features of all of them.
    fine_tuning
        Networks to fine-tune on each task of some task sets, or on the first few.
    options
        What else the source takes, such as the title of an image folder or the split of a Hub
        data set.
    """

    name: str
    source: str = ""
    folder: str = ""
    suites: tuple[str, ...] = ()
    protocols: tuple[str, ...] = tuple(map(str, PUBLISHED_PROTOCOLS))
    task_sets: tuple[str, ...] = ()
    seed: int = 0
    tasks: Mapping[str, int] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    backbones: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    fine_tuning: FineTuningSpec | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def number_of_tasks(self, suite: str) -> int | None:
        """How many are asked for; of suites that reuse images as many as `closed` ones."""
        reuses = suite_of(suite).interval == "closed"
        return self.tasks.get(suite, self.tasks.get("closed") if reuses else None)

    @property
    def every_task_set(self) -> tuple[TaskSetName, ...]:
        """All its task sets, suite by suite."""
        protocols = [Protocol.parse(text) for text in self.protocols]
        by_suite = [TaskSetName(s, p) for s in self.suites for p in protocols]
        return (*by_suite, *map(TaskSetName.parse, self.task_sets))

    @property
    def every_suite(self) -> tuple[Suite, ...]:
        """The suites of its task sets, each once."""
        return tuple(map(suite_of, dict.fromkeys(name.suite for name in self.every_task_set)))


@dataclass(frozen=True)
class ReleaseSpec:
    """A whole release, as its file describes it."""

    name: str
    version: str
    description: str
    datasets: tuple[DatasetSpec, ...]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all that decides the release's content but the raw folders' files."""
        said = asdict(self)
        for dataset in said["datasets"]:
            for later in ("attributes", "task_sets"):
                if not dataset[later]:  # builds of before there were any can go on
                    del dataset[later]
        content = [said, SAMPLER_VERSION]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def find_spec(path: Path) -> Path:
    """The file at `path`, or the specification of that name that comes with the package."""
    shipped = {file.stem: file for file in Path(str(files("builders") / "specs")).glob("*.toml")}
    if not path.exists() and str(path) in shipped:
        return shipped[str(path)]
    if not path.exists() and not path.suffix:
        raise UnknownNameError("specification", str(path), shipped, fix="or name a file")
    return path


def read_spec(path: Path) -> ReleaseSpec:
    """Read and check a specification.

    Raises
    ------
    SpecError
        If the file cannot be read, is no TOML, or a field is missing, unknown or of a wrong type.
    UnknownNameError
        If it names a suite that does not exist.
    """
    where = str(path)
    try:
        raw = parsed_toml(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}", where=where) from None
    except ValueError as error:
        raise SpecError(f"{path} is not TOML: {error}", where=where) from None
    for key in raw:
        if key not in (*_HEAD, *_DEFAULTS, "dataset"):
            raise UnknownNameError("field", key, (*_HEAD, *_DEFAULTS, "dataset"), where=where)
    for key in _HEAD:
        if not isinstance(raw.get(key), str):
            problem = f"{key} is {raw[key]!r}" if key in raw else f"there is no {key}"
            raise SpecError(problem, where=where, expected=f'{key} = "..."')
    entries = raw.get("dataset")
    if (
        not isinstance(entries, list)
        or not all(isinstance(e, dict) for e in entries)
        or not entries
    ):
        raise SpecError(
            "the specification lists no data sets", where=where, expected="[[dataset]] tables"
        )
    defaults = {key: raw[key] for key in _DEFAULTS if key in raw}
    datasets = tuple(
        _dataset({**defaults, **entry}, f"{where}, data set {n}")
        for n, entry in enumerate(entries, 1)
    )
    names = [dataset.name for dataset in datasets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecError(f"data sets are listed twice: {', '.join(twice)}", where=where)
    return ReleaseSpec(**{key: raw[key] for key in _HEAD}, datasets=datasets)


MAX_TASKS = 10_000_000
"""More tasks than any data set holds."""

_HEAD = ("name", "version", "description")
_DEFAULTS = ("protocols", "seed", "tasks")
_TYPES: dict[str, tuple[type, str]] = {
    "name": (str, "a text"),
    "source": (str, "a text"),
    "folder": (str, "a text"),
    "suites": (list, "a list of texts"),
    "protocols": (list, "a list of texts"),
    "task_sets": (list, "a list of texts"),
    "attributes": (dict, 'a table of recipes by name, such as { titles = "given+textblob" }'),
    "features": (list, "a list of texts"),
    "backbones": (list, "a list of texts"),
    "heads": (list, "a list of texts"),
    "fine_tuning": (dict, "a table with backbones and task_sets"),
    "seed": (int, "a whole number"),
    "tasks": (dict, "a table of whole numbers by suite, such as { closed = 600 }"),
    "options": (dict, "a table"),
}


def _dataset(raw: dict[str, Any], where: str) -> DatasetSpec:
    names = [f.name for f in fields(DatasetSpec)]
    for key, value in raw.items():
        if key not in names:
            raise UnknownNameError("field", key, names, where=where)
        kind, expected = _TYPES[key]
        texts = kind is not list or all(isinstance(item, str) for item in value)
        if not isinstance(value, kind) or isinstance(value, bool) or not texts:
            raise SpecError(f"{key} is {value!r}", where=where, expected=expected)
    if "name" not in raw:
        raise SpecError("a data set has no name", where=where, expected='name = "..."')
    given = _frozen(raw)
    if "fine_tuning" in raw:
        given["fine_tuning"] = _fine_tuning(raw["fine_tuning"], f"{where}, fine_tuning")
    spec = DatasetSpec(**given)
    check_dataset_name(spec.name)
    suites = [one for suite in spec.suites for one in suites_of(suite, where)]
    named = [one for name in spec.task_sets for one in task_sets_of(name, where)]
    spec = replace(spec, suites=tuple(suites), task_sets=tuple(named))
    for suite in spec.tasks:
        suite_of(suite, where)
    for suite, number in spec.tasks.items():
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not 1 <= number <= MAX_TASKS:
            raise SpecError(
                f"tasks.{suite} is {number!r}", where=where, expected=f"1 to {MAX_TASKS:,}"
            )
    for name, recipe in spec.attributes.items():
        check_attribute_set_name(name, where)
        if not isinstance(recipe, str):
            raise SpecError(f"attributes.{name} is {recipe!r}", where=where, expected="a recipe")
        Recipe.parse(recipe, f"{where}, attributes.{name}")
    if not spec.protocols:
        raise SpecError("protocols is empty", where=where, expected='such as ["5w1s1q"]')
    listed = list(map(str, spec.every_task_set))
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        raise SpecError(f"task sets are listed twice: {listing(twice, 4)}", where=where)
    source = spec.source or spec.name
    return replace(spec, source=source, folder=spec.folder or source)


def _fine_tuning(raw: dict[str, Any], where: str) -> FineTuningSpec:
    names = [f.name for f in fields(FineTuningSpec)]
    for key, value in raw.items():
        if key not in names:
            raise UnknownNameError("field", key, names, where=where)
        if key == "max_tasks":
            whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
            if not whole:
                raise SpecError(f"max_tasks is {value!r}", where=where, expected="1 or more")
        elif not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SpecError(f"{key} is {value!r}", where=where, expected="a list of texts")
    for key in ("backbones", "task_sets"):
        if not raw.get(key):
            raise SpecError(f"there are no {key}", where=where, expected=f'{key} = ["..."]')
    return FineTuningSpec(**_frozen(raw))


def _frozen(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
