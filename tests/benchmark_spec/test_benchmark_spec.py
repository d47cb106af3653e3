"""Manifests, digests, the catalogue, names and errors; what a manifest refuses is frozen, too."""

import hashlib
import inspect
import json
import pickle
import struct
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct
from msgspec.structs import replace

import benchmark_spec
from benchmark_spec import errors
from benchmark_spec.catalogue import catalogue, lookup
from benchmark_spec.declared import MisfitError, declared, parsed_json
from benchmark_spec.digest import content_digest, content_digest_of, fingerprint
from benchmark_spec.errors import (
    FSLBenchError,
    MethodNameError,
    MissingPackageError,
    ReleaseError,
    SpecError,
    UnknownNameError,
    printable,
)
from benchmark_spec.extras import install_line, require
from benchmark_spec.manifest import (
    Dataset,
    Manifest,
    Table,
    check_manifest,
    number_of_picture_shards,
    number_of_shards,
    scale_of,
    shard_of,
    table_path,
    without_shard,
)
from benchmark_spec.naming import check_dataset_name, check_method_name, one_line, slug
from benchmark_spec.protocol import Protocol, TaskSetName

DATASET = Dataset("cub", "Birds", "https://example.org", "none", "@misc{x}", 2, 4, "")


def _table(kind, dataset, name):
    path = table_path(kind, dataset, name)
    return Table(path, kind, dataset, name, 1, 2, "s", "d", "", {"seed": 0})


MANIFEST = Manifest(
    "small",
    "1.0.0",
    "é",
    (DATASET,),
    (
        _table("classes", "cub", ""),
        _table("tasks", "cub", "open-5w1s1q"),
        _table("features", "cub", "a:b/c"),
        _table("results", "", "b/c"),
    ),
)


def test_configurations_as_the_card_lists_them():
    assert list(MANIFEST.configs().items()) == [
        ("classes", {"cub": ["classes/cub.parquet"]}),
        ("tasks-open-5w1s1q", {"cub": ["tasks/open-5w1s1q/cub.parquet"]}),
        ("features-a-b-c-cub", {"cub": ["features/a-b-c/cub-00000-of-00001.parquet"]}),
        ("results", {"test": ["results/b-c.parquet"]}),
        ("tasks-5w1s1q-cub", {"open": ["tasks/open-5w1s1q/cub.parquet"]}),
    ]


def test_the_digest_is_of_content_not_of_files_or_of_what_wrote_them():
    first, *rest = MANIFEST.tables
    rewritten = (replace(first, sha256="other", bytes=9), *rest)
    assert replace(MANIFEST, tables=rewritten, made_with="fslbench 9").digest == MANIFEST.digest
    changed = replace(MANIFEST, tables=(replace(first, digest="other"), *rest))
    assert changed.digest != MANIFEST.digest
    assert replace(MANIFEST, version="1.0.1").digest != MANIFEST.digest


def test_where_nothing_is_said_tables_alone_may_be_redistributed():
    raw = json.loads(MANIFEST.to_json())
    del raw["datasets"][0]["redistribution"]
    assert Manifest.from_json(json.dumps(raw), "x").datasets[0].redistribution == "tables"


def test_names_that_would_share_a_path_are_refused():
    tables = (_table("results", "", "a/b"), _table("results", "", "a-b"))
    with pytest.raises(FSLBenchError, match="share"):
        check_manifest(replace(MANIFEST, tables=tables))


def test_how_many_shards_and_which():
    assert [number_of_shards(n) for n in (1, 65_536, 65_537, 7_710_295)] == [1, 1, 2, 118]
    assert [number_of_picture_shards(n) for n in (1, 8_192, 8_193)] == [1, 1, 2]
    path = table_path("features", "cub", "a:b", 3, 12)
    assert path == "features/a-b/cub-00003-of-00012.parquet"
    assert (shard_of(path), without_shard(path)) == ((3, 12), "features/a-b/cub.parquet")
    assert table_path("features", "cub", "a") == "features/a/cub-00000-of-00001.parquet"
    assert shard_of("tasks/open-5w1s1q/cub.parquet") == (0, 1)


@pytest.mark.parametrize(("kind", "name"), [("features", "net"), ("pictures", "")])
@pytest.mark.parametrize(
    ("shards", "what"),
    [
        ([(0, 4), (1, 4), (2, 4), (4, 4)], "of 4 shards 0, 1, 2, 4 are listed"),
        ([(0, 4), (2, 4), (1, 4), (3, 4)], "0, 2, 1, 3 are listed, not each once in order"),
        ([(0, 4), (1, 4), (2, 4), (3, 5)], "shards of 4, 5 are listed together"),
        ([(0, 0)], "of 0 shards 0 are listed"),
    ],
)
def test_shards_that_are_not_all_there_in_order(kind, name, shards, what):
    paths = [table_path(kind, "cub", name, *shard) for shard in shards]
    tables = tuple(replace(_table(kind, "cub", name), path=path) for path in paths)
    with pytest.raises(ReleaseError, match=what):
        check_manifest(replace(MANIFEST, tables=tables))


def test_what_steps_stand_for():
    assert scale_of(pa.float32(), {"scale": 2}, "x") == 2.0
    assert scale_of(pa.float16(), {}, "x") is None
    with pytest.raises(ReleaseError, match=r"(half)?float(16)? with a scale"):
        scale_of(pa.float16(), {"scale": 0.5}, "x")


@pytest.mark.parametrize("scale", [None, 0, -1.0, float("nan"), "1", True, 10**400, 1e31])
def test_what_is_no_scale(scale):
    about = json.loads(json.dumps({"scale": scale}))
    with pytest.raises(ReleaseError, match="float features whose provenance gives scale"):
        scale_of(pa.float32(), about, "x")


def _sha(data):
    return hashlib.sha256(data).hexdigest()


def test_the_definition_by_hand():
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "name": pa.array(["é", None], pa.string()),
            "pair": pa.array([[7, 8], [9, 10]], pa.list_(pa.int8(), 2)),
            "free": pa.array([[2, 3], None], pa.list_(pa.int16())),
        }
    )
    lengths = struct.pack("<2q", 2, 0)
    columns = [
        ["id", "int32", [b"\1\1", struct.pack("<2i", 1, 2)]],
        ["name", "string", [b"\1\0", lengths, "é".encode()]],
        ["pair", "fixed_size_list<int8>[2]", [b"\1\1", b"\1" * 4, bytes([7, 8, 9, 10])]],
        ["free", "list<int16>", [b"\1\0", lengths, b"\1\1", struct.pack("<2h", 2, 3)]],
    ]
    columns = [[name, kind, [*map(_sha, parts)]] for name, kind, parts in columns]
    assert content_digest(table) == _sha(json.dumps(["fslbench-content-1", 2, columns]).encode())


def _wide(n):
    rng = np.random.default_rng(0)
    pairs = [None if i % 4 == 0 else [i, -i] for i in range(n)]
    lists = [None if i % 7 == 3 else list(range(i % 5)) for i in range(n)]
    return pa.table(
        {
            "a": pa.array(rng.integers(0, 100, n), pa.int32()),
            "b": pa.array([None if i % 3 == 0 else f"word {i % 11}" for i in range(n)]),
            "c": pa.array(pairs, pa.list_(pa.int16(), 2)),
            "d": pa.array(lists, pa.list_(pa.int8())),
            "e": pa.array(rng.random(n).astype(np.float16)),
            "f": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(n)]),
        }
    )


def test_chunks_slices_dictionaries_and_nullability_do_not_matter():
    table = _wide(50)
    b = table.column("b")
    field = pa.field("a", pa.int32(), nullable=False)
    for same in (
        pa.concat_tables([table.slice(0, 13), table.slice(13, 1), table.slice(14)]),
        table.set_column(1, "b", b.dictionary_encode()),
        table.set_column(1, "b", b.cast(pa.large_string())),
        table.set_column(0, field, table.column("a")),
    ):
        assert content_digest(same) == content_digest(table)


def test_fingerprints_tell_names_apart():
    assert fingerprint("a", "b", "c") == _sha(b'["a", "b", "c"]')
    assert len({fingerprint(*x) for x in (("a", "b", "c"), ("ab", "", "c"), ("b", "a", "c"))}) == 3


def test_parts_have_the_digest_of_the_whole():
    whole = pa.table({"a": pa.array([1, None, 3, 4], pa.int32()), "b": ["x", "yy", None, ""]})
    parts = [whole.slice(0, 1), whole.slice(1, 0), whole.slice(1)]
    assert content_digest_of(iter(parts)) == content_digest(whole)
    assert content_digest_of([whole, whole]) != content_digest(whole)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([{"a": pa.array([0], pa.timestamp("s"))}], "timestamp"),
        ([{"a": [1], "b": ["x"]}, {"a": [1]}], "different columns"),
        ([], "without any part"),
    ],
)
def test_what_has_no_digest(columns, message):
    with pytest.raises(SpecError, match=message):
        content_digest_of(map(pa.table, columns))


# Lafargue et al. (TMLR 2024), Table 2, and the two sizes that it misreports (13,463 and 39,252)
SPLITS = {
    "aircraft": (1500, 15),
    "cub": (1770, 30),
    "dtd": (840, 7),
    "fungi": (13116, 200),
    "mscoco": (151545, 40),
    "omniglot": (13180, 659),
    "quickdraw": (7710295, 52),
    "traffic_signs": (39209, 43),
    "vgg_flower": (1425, 16),
}


def test_counts_of_the_nine_test_splits():
    found = {name: lookup(name) for name in SPLITS}
    assert {name: (it.n_images, len(it.class_names)) for name, it in found.items()} == SPLITS


def test_every_entry_is_whole():
    for dataset in catalogue().values():
        assert len(dataset.class_names) == len(dataset.class_sizes)
        assert len(set(dataset.class_names)) == len(dataset.class_names)
        assert min(dataset.class_sizes) > 0
        assert dataset.licence
        assert (dataset.citation[0], dataset.homepage[:4]) == ("@", "http")


def test_whose_features_may_be_redistributed():
    may = [name for name in SPLITS if lookup(name).redistribution == "features"]
    assert may == ["omniglot", "quickdraw"]
    assert {d.redistribution for d in catalogue().values()} == {"features", "tables"}


def test_classes_are_those_of_the_design(shared):
    design = json.loads((shared / "design/class_sizes.json").read_text())
    assert {*design} == {*SPLITS}
    for name, entry in design.items():
        classes = zip(lookup(name).class_names, lookup(name).class_sizes, strict=True)
        assert [(c["name"], c["n"]) for c in entry["classes"]] == [*classes]


def test_unknown_names_list_the_known():
    with pytest.raises(UnknownNameError, match="did you mean 'aircraft'"):
        lookup("aircrafts")


def test_superclasses_from_the_published_names():
    """Alphabets, genera, and the families of Stallkamp et al. (2012)."""
    of_classes = {
        name: dict(zip(it.class_names, it.of_classes, strict=True))
        for name, it in catalogue().items()
        if it.of_classes is not None
    }
    numbers = {name: len({*of.values()}) for name, of in of_classes.items()}
    assert numbers == {"omniglot": 20, "fungi": 117, "traffic_signs": 6}
    assert all(all(of.values()) for of in of_classes.values())
    omniglot, fungi, signs = (of_classes[name] for name in ("omniglot", "fungi", "traffic_signs"))
    slavonic = "Old_Church_Slavonic_(Cyrillic)"
    assert omniglot[f"{slavonic}-character45"] == slavonic
    assert omniglot["Aurek-Besh-character01"] == "Aurek-Besh"
    assert fungi["0044.Amanita vaginata var. vaginata"] == "Amanita"
    assert Counter(fungi.values())["Russula"] == 15
    found = Counter(signs.values())
    few = dict.fromkeys(("other prohibitory", "derestriction", "unique"), 4)
    assert found == {"danger": 15, "speed limit": 8, "mandatory": 8, **few}
    assert signs["Right-of-way at the next intersection"] == "danger"


def test_slugs():
    assert slug("dinov2/NCC") == "dinov2-NCC"
    assert slug("open_clip:ViT-B-16/openai.x é") == "open_clip-ViT-B-16-openai.x--"
    assert check_dataset_name("fashion_mnist") == "fashion_mnist"


FORMULAS = [
    before + sign for before in ("", "a;", "a; ", 'a;"', "a;b; '") for sign in "=+-@＝＋－＠"
]
"""What spreadsheets take for formulas, also those that part cells by semicolons."""

NO_NAMES = [
    (slug, SpecError, ".", ["..", "/", "-", ""]),
    (check_dataset_name, SpecError, ".", ["Fashion", "fashion-mnist", "", "../x", "1a", "all"]),
    (Protocol.parse, SpecError, ".", ["5w5s", "5w0s5q", "w5s5q", "5w5s5q ", "05w1s1q", ""]),
    (Protocol.parse, SpecError, ".", ["1w1s1q", "9" * 5000 + "w1s1q"]),
    (Protocol.parse, SpecError, "128 ways", ["128w1s1q"]),
    (Protocol.parse, SpecError, "32767 queries", ["100w1s350q"]),
    (TaskSetName.parse, SpecError, ".", ["open"]),
    (TaskSetName.parse, UnknownNameError, r"did you mean 'open'(.|\n)*closed", ["opne-5w5s5q"]),
    (check_method_name, MethodNameError, ".", ["", " a", "a ", "a\nb", "\x1b[31mred", "x" * 201]),
    (check_method_name, MethodNameError, ".", ["a\u202eb", "a\u2800", "\u3164", "a\ufe0f"]),
    (check_method_name, MethodNameError, ".", ["a" + "\u0301" * 9]),
    (check_method_name, MethodNameError, "spreadsheet", [f"{formula}1+1" for formula in FORMULAS]),
]


@pytest.mark.parametrize(
    ("check", "error", "message", "text"),
    [(*row, text) for *row, texts in NO_NAMES for text in texts],
)
def test_what_is_no_name(check, error, message, text):
    with pytest.raises(error, match=message):
        check(text)


@pytest.mark.parametrize(
    "name",
    ["a; b=1", "a;b", "a=b;c", "α-TIM", "__proto__", "dinov2/NCC", "Ünïcode [with] brackets"],
)
def test_names_that_a_method_can_have(name):
    assert check_method_name(name) == name
    assert check_method_name("x" * 200) == "x" * 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred\x07", "?[31mred?"),
        ("left\u202eright", "left?right"),
        ("\ud800", "?"),
        ("é 漢 ‡" + "a" * 295, "é 漢 ‡" + "a" * 295),
        ("a" * 301, "a" * 299 + "…"),
    ],
)
def test_one_line_of_anything(text, shown):
    assert one_line(text) == shown


KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, FSLBenchError) and kind is not errors.UnknownNameError
]
TEXTS = st.text(st.characters(exclude_categories=[]))


@given(st.sampled_from(KINDS), TEXTS, TEXTS, TEXTS, TEXTS)
def test_every_error_is_printable(kind, what, where, expected, fix):
    error = kind(what, where=where, expected=expected, fix=fix)
    for text in (str(error), str(error.with_advice(fix=what)), error.what, error.where):
        assert all(c.isprintable() or c == "\n" for c in text)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_can_be_printed_stays():
    assert printable("81.2 ± 0.3 µ 数字 \n  where") == "81.2 ± 0.3 µ 数字 \n  where"
    assert printable("\x1b[31m\u202e\ud800\t") == r"\x1b[31m\u202e\ud800\t"


METHODS = ("pixels/NCC", "pixels/LR", "pixels/RidgeRegression", "mobilenet_v2/NCC")
FOLDER = Path(benchmark_spec.__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("name", "names", "meant"),
    [
        ("pixels/Riddge", METHODS, "pixels/RidgeRegression"),
        ("pixels/Riddge", (*METHODS, "pixels/Ridge"), "pixels/Ridge"),
        ("pixel/lr", METHODS, "pixels/LR"),
        ("pixels/LF", METHODS, "pixels/LR"),
        ("mobilenet/NCC", METHODS, "mobilenet_v2/NCC"),
        ("shot", ("ways", "shots"), "shots"),
        ("pixels/Other", METHODS, ""),
        ("", METHODS, ""),
    ],
)
def test_the_name_that_is_meant(name, names, meant):
    error = errors.UnknownNameError("method", name, names)
    assert error.what.partition("; did you mean ")[2] == (f"{meant!r}?" if meant else "")


def test_with_a_name_that_is_meant_few_are_listed():
    names = [f"method{number}" for number in range(20)]
    assert errors.UnknownNameError("method", "metod3", names).expected.endswith(" and 12 more")
    assert "more" not in errors.UnknownNameError("method", "other", names).expected
    assert (errors.many(1, "shot"), errors.many(1200, "task")) == ("1 shot", "1,200 tasks")


def test_a_missing_package_is_named_with_the_line_that_installs_it():
    with pytest.raises(MissingPackageError, match="'no_such'") as caught:
        require("no_such.part")
    assert caught.value.fix == install_line("builders")
    assert require("json").loads("1") == 1


@pytest.mark.slow
def test_what_needs_docstrings_says_so_where_python_has_none():
    pytest.importorskip("altair", reason="needs the extra `report`")
    code = "from benchmark_spec.extras import require; require('altair', 'report')"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert "MissingPackageError: the package 'altair' cannot be imported" in done.stderr
    assert "fix: run Python without -OO" in done.stderr


@pytest.mark.parametrize(
    ("url", "more", "line"),
    [
        ("file:///a/clone%201", {"dir_info": {"editable": True}}, "'/a/clone 1[report]'"),
        ("file:///a/clone", {"dir_info": {}}, "'/a/clone[report]'"),
        ("file:///a/b.whl", {"archive_info": {}}, '"fslbench[report] @ file:///a/b.whl"'),
        (
            "https://a.b/c",
            {"vcs_info": {"vcs": "git", "commit_id": "0123abc"}},
            '"fslbench[report] @ git+https://a.b/c@0123abc"',
        ),
        ("", None, '"fslbench[report]"'),  # of an index
        ("", metadata.PackageNotFoundError, f"'{FOLDER}[report]'"),  # a clone, not installed
    ],
)
def test_the_line_installs_what_is_there(url, more, line, monkeypatch):
    class Installed:
        def __init__(self, name):
            if more is metadata.PackageNotFoundError:
                raise more(name)

        def read_text(self, name):
            assert name == "direct_url.json"
            return None if more is None else json.dumps({"url": url, **more})

    monkeypatch.setattr(metadata, "distribution", Installed)
    assert install_line("report").startswith(f"pip install {line}")


class Inner(Struct, forbid_unknown_fields=True):
    seeds: Annotated[int, Meta(ge=1, description="1 or more")] = 1
    kind: Literal["a", "b"] = "a"


class Outer(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description='name = "..."')]
    inner: Inner | None = None
    by_name: dict[str, dict[str, Inner]] = {}
    several: tuple[Inner, ...] = ()
    texts: tuple[str, ...] = ()
    more: dict[str, Any] = {}


HOSTILE = {
    "a name that looks like a place": '{"name": "x", "q - at `$.seed": 1}',
    "one that is there": '{"name": "x", "q - at `$.name": 1}',
    "a value that looks like a place": '{"name": "x", "inner": {"kind": "c - at `$.x`"}}',
    "a key that looks like one": '{"name": "x", "by_name": {"[0]": {"` - at `$": 3}}}',
    "wrong, then malformed": '{"name": 3, "more": {',
    "wrong, then nested": '{"name": 3, "more": ' + '{"a":' * 200_000,
    "twice, first nested": '{"name": "x", "inner": {"seeds": 0}, "inner": 3}',
    "twice, first a number": '{"name": "x", "several": 3, "several": [{"seeds": 0}]}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_texts_made_to_harm(text):
    with pytest.raises(ValueError, match=r"(?s)^.+$"):
        parsed_json(text, Outer)


def test_what_is_declared():
    """What may be left out may be nothing; the last of two counts, as in Python."""
    with pytest.raises(MisfitError, match=r"^inner is 3, not a table or nothing$"):
        declared({"name": "x", "inner": 3}, Outer)
    text = '{"name": 3, "name": "x", "inner": {"seeds": 0}, "inner": {"seeds": 2}}'
    assert parsed_json(text, Outer) == Outer("x", Inner(2))


def test_the_place_is_found_by_reading_each_part_once_more():
    """Tables that strangers fill are narrowed from outside in, not all read for every name."""
    tables = {f"{i}": {f"{j}": {} for j in range(100)} for i in range(300)}
    tables["299"]["99"] = {"seeds": 0}
    with pytest.raises(MisfitError, match=r"by_name.299.99.seeds is 0"):
        declared({"name": "x", "by_name": tables}, Outer)
    assert tables == {"299": {"99": {"seeds": 0}}}
