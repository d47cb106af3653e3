"""Files that declare something and are refused: their texts, and what the error must name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark_spec.manifest import Dataset, Manifest, Table, table_path

SPEC = 'name = "r"\nversion = "1.0.0"\ndescription = "d"\n'
CUB = '[[dataset]]\nname = "cub"\nsource = "catalogue"\n'
# name: text, what the error names
SPECS: dict[str, tuple[str, str]] = {
    "no TOML": ("x = [", "not TOML"),
    "nested": (f"x = {'[' * 5000}", "not TOML"),
    "a number of many digits": (f"seed = {'9' * 5000}", "not TOML"),
    "no data sets": (SPEC, "dataset"),
    "an empty list of data sets": (SPEC + "dataset = []\n", "dataset"),
    "a number of data sets": (SPEC + "dataset = 3\n", "dataset"),
    "numbers for data sets": (SPEC + "dataset = [3]\n", "dataset"),
    "no name": (CUB, "name"),
    "a number for a name": (SPEC.replace('"r"', "3") + CUB, "name"),
    "a date for a version": (SPEC.replace('"1.0.0"', "2020-01-01") + CUB, "version"),
    "an unknown field": (SPEC + "sed = 1\n" + CUB, "'seed'"),
    "an unknown field of a data set": (SPEC + CUB + 'suits = ["open"]\n', "'suites'"),
    "a field of another level": (SPEC + CUB + 'version = "1.0.0"\n', "version"),
    "no name of a data set": (SPEC + '[[dataset]]\nsource = "cub"\n', "name"),
    "a name of a data set that cannot be": (SPEC + '[[dataset]]\nname = "Cub!"\n', "Cub!"),
    "suites are a number": (SPEC + CUB + "suites = 3\n", "suites"),
    "suites are a text": (SPEC + CUB + 'suites = "open"\n', "suites"),
    "a suite is a number": (SPEC + CUB + 'suites = ["open", 1]\n', "suites"),
    "protocols are numbers": (SPEC + CUB + "protocols = [5]\n", "protocols"),
    "no protocols": (SPEC + CUB + "protocols = []\n", "protocols"),
    "a seed is true": (SPEC + CUB + "seed = true\n", "seed"),
    "a seed is a text": (SPEC + CUB + 'seed = "1"\n', "seed"),
    "a seed is a fraction": (SPEC + CUB + "seed = 1.5\n", "seed"),
    "tasks are a number": (SPEC + CUB + "tasks = 600\n", "tasks"),
    "no tasks": (SPEC + CUB + "tasks = { closed = 0 }\n", "tasks.closed"),
    "many tasks": (SPEC + CUB + "tasks = { pooled = 1, closed = 10000001 }\n", "tasks.closed"),
    "tasks as texts": (SPEC + CUB + 'tasks = { closed = "600" }\n', "tasks.closed"),
    "tasks of no suite": (SPEC + CUB + "tasks = { closd = 3 }\n", "'closed'"),
    "queries are a word": (SPEC + CUB + 'queries = "best"\n', "queries"),
    "queries by an unknown rule": (SPEC + CUB + 'queries = { haed = "NCC" }\n', "'head'"),
    "queries by a head that is a number": (SPEC + CUB + "queries = { head = 3 }\n", "head"),
    "queries on no seeds": (SPEC + CUB + "queries = { seeds = 0 }\n", "seeds"),
    "queries on many seeds": (SPEC + CUB + "queries = { seeds = 1000000 }\n", "seeds"),
    "attributes are a list": (SPEC + CUB + 'attributes = ["titles"]\n', "attributes"),
    "a recipe is a number": (SPEC + CUB + "attributes = { titles = 3 }\n", "attributes.titles"),
    "pictures of no size": (SPEC + CUB + "pictures = 3\n", "pictures"),
    "pictures as a word": (SPEC + CUB + 'pictures = "file"\n', "pictures"),
    "pictures are true": (SPEC + CUB + "pictures = true\n", "pictures"),
    "options are a list": (SPEC + CUB + "options = []\n", "options"),
    "fine-tuning is a list": (SPEC + CUB + "fine_tuning = []\n", "fine_tuning"),
    "fine-tuning of nothing": (
        SPEC + CUB + 'fine_tuning = { backbones = [], task_sets = ["open-5w1s1q"] }\n',
        "backbones",
    ),
    "fine-tuning on nothing": (SPEC + CUB + 'fine_tuning = { backbones = ["x"] }\n', "task_sets"),
    "fine-tuning on no tasks": (
        SPEC + CUB + 'fine_tuning = { backbones = ["x"], task_sets = ["y"], max_tasks = 0 }\n',
        "max_tasks",
    ),
    "fine-tuning with an unknown field": (
        SPEC + CUB + 'fine_tuning = { backbone = ["x"] }\n',
        "'backbones'",
    ),
    "the second data set": (SPEC + CUB + '[[dataset]]\nname = "dtd"\nseed = "x"\n', "seed"),
    "listed twice": (SPEC + CUB + CUB, "cub"),
}

RUN = 'method = "ProtoNet"\n{head}[data]\nsource = "digits"\nside = 8\n{data}'
_MORE: dict[str, tuple[str, str, str]] = {
    "an unknown field": ("sed = 1\n", "", "'seed'"),
    "an unknown part": ("", "[networks]\n", "'network'"),
    "an unknown field of a part": ("", "[network]\nchanels = 3\n", "'channels'"),
    "a seed of 2^64": ("seed = 18446744073709551616\n", "", "seed"),
    "a seed below 0": ("seed = -1\n", "", "seed"),
    "a seed is true": ("seed = true\n", "", "seed"),
    "a number of many digits": (f"seed = {'9' * 5000}\n", "", "not TOML"),
    "a part is a number": ("training = 3\n", "", "training"),
    "settings are a list": ("settings = []\n", "", "settings"),
    "a date among settings": ("settings = { a = 2020-01-01 }\n", "", "settings"),
    "nan among options": ("", "train = { a = nan }\n", "train"),
    "an option nested deep": ("", f"train = {{ a = {'[' * 50 + ']' * 50} }}\n", "train"),
    "channels without end": ("", "[network]\nchannels = 999999999\n", "channels"),
    "no such network": ("", '[network]\nname = "conv5"\n', "name"),
    "three pools": ("", "[network]\npools = [true, true, false]\n", "pools"),
    "pools are numbers": ("", "[network]\npools = [1, 1, 0, 0]\n", "pools"),
    "a slope below 0": ("", "[network]\nslope = -0.1\n", "slope"),
    "a slope that is none": ("", "[network]\nslope = nan\n", "slope"),
    "a start elsewhere": ("", '[network]\nstart = "../../x"\n', "start"),
    "a start with a null": ("", '[network]\nstart = "a\\u0000b"\n', "start"),
    "a long start": ("", f'[network]\nstart = "{"a" * 201}"\n', "start"),
    "steps beyond counting": ("", f"[training]\nsteps = {'9' * 30}\n", "steps"),
    "no steps": ("", "[training]\nsteps = 0\n", "steps"),
    "a rate of 0": ("", "[training]\nrate = 0\n", "rate"),
    "a rate no float can be": ("", f"[training]\nrate = {'9' * 400}\n", "rate"),
    "a rate is true": ("", "[training]\nrate = true\n", "rate"),
    "a batch without end": ("", "[training]\nbatch = 99999999999\n", "batch"),
    "no such optimizer": ("", '[training]\noptimizer = "adagrad"\n', "optimizer"),
    "an episode is a number": ("", "[training]\nepisode = 5\n", "episode"),
    "an episode that is none": ("", '[training]\nepisode = "5w"\n', "5w"),
    "many tasks": ("", "[validation]\ntasks = 1000001\n", "tasks"),
}
RUNS: dict[str, tuple[str, str]] = {
    **{k: (RUN.format(head=head, data=data), said) for k, (head, data, said) in _MORE.items()},
    "no TOML": ("x = [", "not TOML"),
    "no method": ('[data]\nsource = "digits"\n', "method"),
    "no data": ('method = "ProtoNet"\n', "data"),
    "no source": ('method = "ProtoNet"\n[data]\nside = 8\n', "source"),
}

BOARDS: dict[str, tuple[str, str]] = {
    "empty": ("", "releases"),
    "no releases": ("releases = []", "releases"),
    "releases are a text": ('releases = "embedded"', "releases"),
    "releases are numbers": ("releases = [1]", "releases"),
    "a release twice": ('releases = ["embedded", "embedded"]', "releases"),
    "a folder": ('releases = ["/etc"]', "/etc"),
    "a title is a number": ('title = 1\nreleases = ["embedded"]', "title"),
    "a title that is not printable": ('title = "a\\u001b[31m"\nreleases = ["embedded"]', "title"),
    "a long title": (f'title = "{"a" * 201}"\nreleases = ["embedded"]', "title"),
    "unknown settings": ('sort = "x"\nreleases = ["embedded"]', "sort"),
    "no TOML": ("releases = [", "TOML"),
    "nested": ("x = " + "[" * 5000, "TOML"),
    "long": ("#" * 70000, "longer"),
}


def _table(kind: Any, dataset: str, name: str) -> Table:
    return Table(table_path(kind, dataset, name), kind, dataset, name, 1, 2, "s", "d", "", {})


MANIFEST = Manifest(
    "small",
    "1.0.0",
    "é",
    (Dataset("cub", "Birds", "https://example.org", "none", "@misc{x}", 2, 4, ""),),
    (
        _table("classes", "cub", ""),
        _table("tasks", "cub", "open-5w1s1q"),
        _table("results", "", "m"),
    ),
)
_FIELDS: dict[str, tuple[tuple[str | int, ...], Any, str]] = {
    "another digest": (("digest",), "0", "digest"),
    "a table of tables": (("tables",), {}, "tables"),
    "a name is a number": (("name",), 3, "name"),
    "a name with commands": (("name",), "a\x1b[31m", "name"),
    "a version of one number": (("version",), "1", "version"),
    "a version of many digits": (("version",), "9" * 5000 + ".0.0", "version"),
    "a later specification": (("spec_version",), "2.0", "2.0"),
    "a specification that is a list": (("spec_version",), [[1]], "spec_version"),
    "a SHA-256 that is none": (("specification",), "x", "specification"),
    "made with a number": (("made_with",), 3, "made_with"),
    "made with what is not printable": (("made_with",), "a\x1b[31m", "made with"),
    "a long description": (("description",), "x" * 20_000, "description"),
    "a data set is a text": (("datasets", 0), "cub", "'cub'"),
    "a title is a number": (("datasets", 0, "title"), 3, "title"),
    "a title of two lines": (("datasets", 0, "title"), "a\nb", "title"),
    "fewer classes than none": (("datasets", 0, "n_classes"), -1, "n_classes"),
    "a text of classes": (("datasets", 0, "n_classes"), "2", "n_classes"),
    "fractions of images": (("datasets", 0, "n_images"), 4.5, "n_images"),
    "superclasses are true": (("datasets", 0, "n_superclasses"), True, "n_superclasses"),
    "redistribution of everything": (("datasets", 0, "redistribution"), "all", "redistribution"),
    "a name of a data set that cannot be": (("datasets", 0, "name"), "Cub!", "Cub!"),
    "no rows": (("tables", 1, "rows"), -1, "rows"),
    "rows beyond 64 bits": (("tables", 1, "rows"), 1 << 63, "rows"),
    "rows beyond counting": (("tables", 1, "rows"), 10**4000, "rows"),
    "bytes are true": (("tables", 1, "bytes"), True, "bytes"),
    "a digest is null": (("tables", 1, "digest"), None, "digest"),
    "no such kind": (("tables", 1, "kind"), "task", "kind"),
    "drawn is a text": (("tables", 1, "drawn"), "yes", "drawn"),
    "a table of classes that is drawn": (("tables", 0, "drawn"), True, "classes/cub.parquet"),
    "provenance is a list": (("tables", 1, "provenance"), [], "provenance"),
    "provenance nested deep": (("tables", 1, "provenance"), {"a": json.loads("[" * 17 + "]" * 17)},
                               "provenance"),
    "a path out of the release": (("tables", 1, "path"), "../x.parquet", "../x.parquet"),
    "a name that is none": (("tables", 1, "name"), "x", "'x'"),
    "an unknown data set": (("tables", 1, "dataset"), "dtd", "dtd"),
}  # fmt: skip


_LEFT_OUT = object()


def _changed(path: tuple[str | int, ...], value: Any = _LEFT_OUT) -> str:
    """The manifest with another value at a place, or none."""
    raw: Any = json.loads(MANIFEST.to_json())
    at = raw
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    if value is _LEFT_OUT:
        del at[path[-1]]
    return json.dumps(raw)


MANIFESTS: dict[str, tuple[str, str]] = {
    **{name: (_changed(path, value), said) for name, (path, value, said) in _FIELDS.items()},
    "empty": ("", "JSON"),
    "a list": ("[]", ""),
    "nested": ('{"a":' * 100_000, "JSON"),
    "NaN": (_changed(("tables", 1, "provenance"), {"seed": float("nan")}), ""),
    "1e999": (_changed(("tables", 1, "provenance"), {"seed": 0}).replace("0}", "1e999}"), ""),
    "half a character": ('{"spec_version": "\\ud800"}', ""),
    "no name": (_changed(("name",)), "name"),
    "no title": (_changed(("datasets", 0, "title")), "title"),
    "no rows said": (_changed(("tables", 2, "rows")), "rows"),
    "no digest": (_changed(("digest",)), "digest"),
}


def readers(folder: Path) -> dict[str, tuple[dict[str, tuple[str, str]], Callable[[str], object]]]:
    """The files of each kind, and what reads their text."""
    from builders.release.spec_file import read_spec
    from builders.training.settings import read_settings
    from fslbench_data.leaderboard.repository import parse_board

    def written(read: Callable[[Path], object]) -> Callable[[str], object]:
        def put(text: str) -> object:
            path = folder / "x.toml"
            path.write_text(text, encoding="utf-8")
            return read(path)

        return put

    return {
        "specification": (SPECS, written(read_spec)),
        "training": (RUNS, written(read_settings)),
        "board": (BOARDS, lambda text: parse_board(text.encode(), "leaderboard.toml")),
        "manifest": (MANIFESTS, lambda text: Manifest.from_json(text, "release.json")),
    }
