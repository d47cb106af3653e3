"""The keys and columns that docs/schemas.md lists are those that commands print."""

import csv
import io
import json
import re
import shlex

import pyarrow as pa
import pytest
from click.testing import CliRunner
from golden_inputs import INPUTS

from benchmark_spec.version import OUTPUT_SCHEMA
from builders.cli import main as build_main
from fslbench_data.cli import main
from fslbench_data.scoring.dataset_means import DATASET_MEANS
from fslbench_data.scoring.task_set_report import COMPARISONS, SCORES

COMMANDS = {
    "score": [
        "fslbench score three.parquet --task-set open-5w5s5q --task-set closed-5w5s5q",
        "fslbench score stopped.parquet",
        "fslbench score unbound.csv --unbound",
        "fslbench score perfect.parquet",
        "fslbench score runs.parquet",
        "fslbench compare prefix.parquet::part prefix.parquet::whole",
        "fslbench score --dataset emoji --task-set open-5w5s5q --task-set closed-5w5s5q",
        "fslbench interval own_log_few.jsonl --class-sizes own_sizes.csv",
        "fslbench score own_log_of_two.csv",
    ],
    "score --counts": [
        "fslbench score --counts --dataset glyphs_sample --task-set open-5w1s1q "
        "--task-set closed-5w1s1q",
        "fslbench score three.parquet --counts",
    ],
    "score --means": ["fslbench score --means"],
    "score --bias": [
        "fslbench score biased_answers.parquet --release biased --bias",
        "fslbench score attributed.parquet --bias --dataset emoji",
    ],
    "info": ["fslbench info", "fslbench info biased"],
    "plan": [
        "fslbench plan --dataset digits --queries 1,5",
        "fslbench plan --dataset digits --pilot my_results.parquet --versus pixels/LR --queries 1",
        "fslbench plan --dataset digits --pilot runs_pilot.parquet::twice --queries 5",
    ],
    "plan --suite pooled": [
        "fslbench plan --suite pooled --dataset digits --versus pixels/LR --queries 5",
        "fslbench plan --suite pooled --dataset digits --queries 5",
        "fslbench plan --suite pooled --dataset digits --pilot runs_pilot.parquet::twice "
        "--queries 5",
    ],
    "leaderboard": [
        "fslbench leaderboard --results results --dataset digits",
        "fslbench leaderboard --results results_of_superclasses --task-set open-5w5s5q "
        "--task-set closed-5w5s5q",
    ],
    "reported": [
        "fslbench reported '91 ± 0.5' '90 ± 0.5' --dataset CUB --ways 5 --shots 1 --queries 9 "
        "--tasks 600",
        "fslbench score accuracies.txt accuracies.npy",
    ],
    "query-size": [
        "fslbench-build query-size --dataset digits --features pixels --shot 1 --queries 1,2 "
        "--seeds 2"
    ],
}
TYPES = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "null"}


def _sections(root):
    """Types by key or column and section; ``### CSV`` below ``## score`` is ``score CSV``."""
    sections = {}
    for line in (root / "docs/schemas.md").read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch("## (.*)", line):
            name = above = match[1].replace("`", "")
        elif match := re.fullmatch("### (.*)", line):
            name = f"{above} {match[1]}"
        elif match := re.match(r"\| `([^`]+)` \| ([^|]+) \|", line):
            assert match[1] not in sections.setdefault(name, {}), match[1]
            sections[name][match[1]] = set(match[2].strip().split(", "))
    return sections


def _keys(sections, name):
    """The keys of a section, with those of the shapes that it names."""
    keys = {}
    for key, types in sections[name].items():
        for kind in types:
            if f"Shapes {kind}" in sections:
                inner = _keys(sections, f"Shapes {kind}")
                keys |= {f"{key}.{name}": of for name, of in inner.items()}
            else:
                keys.setdefault(key, set()).add(kind)
    return keys


def _output(command, folder, form):
    program, *arguments = shlex.split(command)
    for word in arguments:
        name = re.split("[:/]", word)[0]
        if name in INPUTS and not (folder / name).exists():
            INPUTS[name](folder / name)
    group = {"fslbench": main, "fslbench-build": build_main}[program]
    result = CliRunner().invoke(group, [*arguments, "--format", form])
    assert result.exit_code == 0, result.output
    return result.stdout


def _leaves(value, path, keys):
    """Yield every value's path and type; ``*`` stands for any name."""
    if isinstance(value, dict):
        free = f"{path}.*" if any(key.startswith(f"{path}.*") for key in keys) else ""
        for name, part in value.items():
            yield from _leaves(part, free or (f"{path}.{name}" if path else name), keys)
    elif isinstance(value, list):
        if not value or not isinstance(value[0], dict):
            yield path, "list"
        for part in value:
            if isinstance(part, dict):
                yield from _leaves(part, f"{path}[]", keys)
    else:
        yield path, TYPES[type(value)]


SLOW = ("score", "score --bias", "leaderboard", "plan")


def _columns(text):
    return next(csv.reader(io.StringIO(re.sub("^#.*\n", "", text))))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in COMMANDS]
)
def test_keys_and_columns_are_documented(name, tmp_path, root, monkeypatch):
    if name == "query-size":
        pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
    monkeypatch.chdir(tmp_path)
    assert f"\nSchema {OUTPUT_SCHEMA}. JSON" in (root / "docs/schemas.md").read_text("utf-8")
    sections = _sections(root)
    keys = _keys(sections, name)
    types = {}
    for command in COMMANDS[name]:
        content = json.loads(_output(command, tmp_path, "json"))
        assert next(iter(content.items())) == ("schema", OUTPUT_SCHEMA)
        for path, kind in _leaves(content, "", keys):
            types.setdefault(path, set()).add(kind)
    undocumented = types.keys() - keys.keys()
    assert not undocumented, f"docs/schemas.md has no row, under {name}, for {sorted(undocumented)}"

    def filled(path):
        return any(other.startswith((f"{path}.", f"{path}[].")) for other in types)

    # a key's own keys are printed, or it stands in a list that is empty everywhere
    empty = tuple(f"{path}[]." for path, of in types.items() if of == {"list"} if not filled(path))
    unprinted = {key for key in keys.keys() - types.keys() if not filled(key)}
    unprinted = {key for key in unprinted if not key.startswith(empty)}
    assert not unprinted, f"docs/schemas.md has, under {name}, what is not printed: {unprinted}"
    for path, kinds in types.items():
        allowed = keys[path] | ({"integer"} if "number" in keys[path] else set())
        assert kinds <= allowed, (path, kinds)
    if columns := sections.get(f"{name} CSV"):
        assert _columns(_output(COMMANDS[name][0], tmp_path, "csv")) == list(columns)


def test_columns_of_a_table_for_a_paper(tmp_path, root):
    table = f"fslbench table {root}/examples/my_results.parquet --task-set open-5w5s5q"
    assert _columns(_output(table, tmp_path, "csv")) == list(_sections(root)["table CSV"])


def test_columns_of_results_with_all_classes(tmp_path, root):
    log = [
        {"method": method, "image": i, "class": i % 3, "predicted": i * (i % step) % 3, "draw": d}
        for method, step in (("a", 4), ("b", 5))
        for d in range(2)
        for i in range(12)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, log)))
    documented = list(_sections(root)["score Results with all classes at once"])
    command = f"fslbench score {tmp_path}/log.jsonl"
    assert _columns(_output(command, tmp_path, "csv")) == documented
    for row in json.loads(_output(command, tmp_path, "json"))["all_classes"]:
        assert list(row) == documented


@pytest.mark.parametrize(
    ("name", "schema"),
    [("scores", SCORES), ("comparisons", COMPARISONS), ("dataset_means", DATASET_MEANS)],
)
def test_columns_of_frames_and_sql_tables_are_documented(name, schema, root):
    documented = _sections(root)[f"Frames and SQL tables {name}"]
    kinds = {pa.string(): "text", pa.bool_(): "boolean", pa.int32(): "integer"}
    types = {field.name: kinds.get(field.type, "number") for field in schema}
    assert {column: next(iter(of - {"null"})) for column, of in documented.items()} == types
    assert list(documented) == schema.names


def test_the_schemas_of_files_are_made_from_their_types(root, capsys):
    (block,) = re.findall("```python\n(.*?)```", (root / "docs/schemas.md").read_text(), re.S)
    made = {}
    exec(block, made)
    fields = made["schema"](made["DatasetSpec"])["$defs"]["DatasetSpec"]
    assert fields["additionalProperties"] is False
    assert fields["required"] == ["name"]
    assert "such as { closed = 600 }" in fields["properties"]["tasks"]["description"]
    assert fields["properties"]["seed"] == {"type": "integer", "default": 0}
    for name in ("Manifest", "RunSettings", "Settings"):
        assert made["schema"](made[name])["$defs"][name]["required"]
    assert "DatasetSpec" in capsys.readouterr().out
