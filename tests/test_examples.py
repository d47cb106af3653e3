"""Scripts, loops and commands that a researcher starts from, run as they stand."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from own_logs import estimates
from pages import blocks
from tiny_features import write_checkpoint, write_pictures

import fslbench_data as fb
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from fslbench_data.cli import main


def _run(*words, env=None, cwd):
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=env, cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert env is None or env["HF_TOKEN"] not in done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_method_of_ones_own_on_frozen_features(root, tmp_path):
    path = tmp_path / "own.parquet"
    said = _run("examples/own_method.py", path, cwd=root).splitlines()
    assert len(said) == 12  # two data sets, three protocols, two methods to compare with
    report = fb.score(path)
    assert not report.signature.unbound
    assert said[0].startswith("groceries/open-5w1s1q efficientnet_lite0-pca128/NCC: +0.0 ± 0.0 =")
    own = [each for each in report.scores if each.method == "efficientnet_lite0-pca128/scatter"]
    assert min(score.accuracy.mean for score in own) > 45
    assert max(score.accuracy.mean for score in own) > 88


@pytest.mark.slow
def test_a_data_set_and_a_model_of_ones_own(root, tmp_path, hub):
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    birds, release = write_pictures(tmp_path / "BIRDS", 12), tmp_path / "release"
    arguments = [birds, "-o", release, "--protocols", "3w2s2q", "--repo-id", "org/birds"]
    said = _run("examples/own_dataset.py", *arguments, env=hub.env(), cwd=root).splitlines()
    assert "0 problems" in said[0]
    tasks = fb.load_release(release)
    info = tasks.task_set_info("birds", "open-3w2s2q")
    assert said[1] == f"birds/open-3w2s2q: {info.n_tasks} tasks"
    assert said[2] == "birds/closed-3w2s2q: 600 tasks"
    assert said[3].startswith("published as org/birds@v1.0.0")

    weights = write_checkpoint(tmp_path) / "tiny.safetensors"
    model = ["--dataset", "birds", "--release", release, "--model", "test_vit"]
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    for path in (one, two):
        found = ["--checkpoint", weights, "-o", path]
        _run("examples/own_model.py", birds, *model, *found, cwd=root)
    assert one.read_bytes() == two.read_bytes()
    assert not list(tmp_path.glob("*.partial"))
    found = fb.Submission.read(one)
    assert list(found.methods) == ["test_vit/nearest-mean"]
    assert found.table.num_rows == info.n_tasks + 600
    report = fb.score(found, tasks)
    assert np.isfinite([score.accuracy.mean for score in report.scores]).all()


DOCS = Path(__file__).parents[1] / "docs"
BLOCKS = blocks(DOCS / "own_tasks.md")
PYTHON = [content for mark, language, content in BLOCKS if language == "python" and not mark]


@pytest.fixture
def loops(tmp_path, monkeypatch):
    for needed in ("torch", "torchvision", "easyfsl"):
        pytest.importorskip(needed, reason=f"needs {needed}, of the extra `test`")
    monkeypatch.chdir(tmp_path)
    return {}


@pytest.mark.slow
def test_the_page_of_own_tasks(tmp_path, monkeypatch, loops):
    """A log gives what the loop's own arrays give, and the command prints what the page shows."""
    for block in PYTHON:
        exec(block, loops)
    methods = [type(method).__name__ for method in loops["methods"]]
    labels, drawn = np.array(loops["labels"]), loops["sampler"].drawn[:600]
    images = np.array([np.hstack([task["support_ids"], task["query_ids"]]) for task in drawn])
    right = {(row["method"], row["task"]): row["n_correct"] for row in loops["tasks"].rows}
    y = np.array([[right[method, task] for task in range(600)] for method in methods]) / 35
    own = leave_one_out(TaskDesign.of(labels[images[:, :, 0]], images, labels), y, 0.95)
    found = estimates(loops["shown"]).values()
    for kinds, at in zip(found, [(0, 0), (1, 1), (0, 1)], strict=True):
        assert {*kinds} == {"images", "classes"}
        for kind, row in kinds.items():
            assert abs(row["value"] - 100 * own.mean[at]) < 1e-12
            assert abs(row["halfwidth"] - 100 * getattr(own, kind).halfwidth[at]) < 1e-8
            assert 0 < row["halfwidth"] < 20
    (command,) = (content for mark, _, content in BLOCKS if mark == "run")
    (printed,) = (content for mark, _, content in BLOCKS if mark == "printed")
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    *shown, signature, _ = result.stdout.split("\n")
    assert signature == str(loops["shown"].signature)
    assert "\n".join(shown).strip() == printed.strip()
    assert len(result.stdout.splitlines()) <= 50


@pytest.mark.parametrize(
    ("package", "log"), [("learn2learn", "log"), ("pytorch_lightning", "tasks")]
)
def test_the_loops_of_other_packages(package, log, loops):
    pytest.importorskip(package, reason=f"needs {package}", exc_type=ImportError)
    (block,) = (content for mark, _, content in BLOCKS if mark == package)
    assert len(block.splitlines()) <= 15
    for each in (*PYTHON[:2], block):
        exec(each, loops)
    (score,) = fb.interval(loops[log].rows, class_sizes=loops[log].class_sizes).scores
    assert score.accuracy.tasks == 600
    assert 90 < score.accuracy.mean < 93


OF_PYTORCH = (DOCS / "evaluate.md").read_text(encoding="utf-8")
OF_PYTORCH = OF_PYTORCH.partition("\n## PyTorch\n")[2].partition("\n## ")[0]
LOOPS = re.findall(r"```python\n(.*?)```", OF_PYTORCH, flags=re.DOTALL)


@pytest.mark.slow
def test_the_page_of_pytorch(tmp_path, loops, capsys):
    from builders.release.build import build_release
    from builders.release.spec import DatasetSpec, ReleaseSpec

    write_pictures(tmp_path / "BIRDS", 6)
    only = {"suites": ("closed",), "protocols": ("3w2s2q",), "tasks": {"closed": 20}}
    about = {"title": "t", "homepage": "h", "licence": "l", "citation": "c"}
    birds = DatasetSpec("birds", source="image_folder", folder="BIRDS", options=about, **only)
    spec = ReleaseSpec("birds", "1.0.0", "t", (birds,))
    build_release(spec, tmp_path / "release", raw=tmp_path)
    loops["birds"] = fb.load_release(tmp_path / "release")
    for block in LOOPS:
        exec(block, loops)

    own = fb.score("mine.parquet", loops["release"])
    assert own.scores[0].accuracy.mean > 80
    difference = r"([+-][\d.]+) ± ([\d.]+) for new images"
    (written,) = re.findall(difference, OF_PYTORCH)
    (printed,) = re.findall(difference, capsys.readouterr().out)
    assert np.allclose(np.array(printed, float), np.array(written, float), atol=0.3)

    looped = loops["evaluated"](loops["network"].cpu(), "drawings/prototypes").table
    tasks = {"datasets": "groceries", "task_sets": "closed-5w5s5q", "features": loops["BACKBONE"]}
    how = {"name": "drawings/prototypes", "device": "cpu", "batch": 64}
    assert looped.equals(fb.evaluate(loops["method"], loops["release"], **tasks, **how).table)
    assert loops["features"].shape == (4, 3, 2, 3 * 32 * 32)
    assert list(loops["submission"].methods) == ["easyfsl/PrototypicalNetworks"]


SPEC = """
name = "small"
version = "1.0.0"
description = "Digits, to try the whole way."
protocols = ["3w5s5q"]

[[dataset]]
name = "digits"
suites = ["open"]
features = ["pixels"]
heads = ["NCC"]
"""

METHOD = """
import numpy as np

def nearest(support, query, rng):
    way, shot = support.shape[:2]
    means = support.reshape(way, shot, -1).mean(axis=1)
    return ((query.reshape(len(query), 1, -1) - means) ** 2).sum(axis=2).argmin(axis=1)
"""

LOAD = """
import datasets, json
from fslbench_data.release.release import load_release

release = load_release("org/small@v1.0.0")
plain = datasets.load_dataset("org/small", "tasks-open-3w5s5q", split="digits", revision="v1.0.0")
tasks = release.task_set("digits", "open-3w5s5q")
assert plain["query"] == tasks.query.tolist()
assert release.load_dataset("results", "test").num_rows == plain.num_rows
print(json.dumps([release.hub, plain.num_rows]))
"""


@pytest.mark.slow
def test_build_publish_load_evaluate_submit_leaderboard(hub, tmp_path):
    """The whole way, command by command, as users go it: over HTTP, each command a process."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")

    def types(program, *arguments):
        module = {"fslbench": "fslbench_data.cli", "fslbench-build": "builders.cli"}.get(program)
        start = f"from {module} import main; main()" if module else program
        return _run("-c", start, *arguments, env=hub.env(), cwd=tmp_path)

    (tmp_path / "small.toml").write_text(SPEC)
    (tmp_path / "method.py").write_text(METHOD)
    types("fslbench-build", "release", "small.toml", "-o", "release")
    types("fslbench-build", "publish", "release", "--repo-id", "org/small")
    manifest = json.loads((tmp_path / "release/release.json").read_text())
    assert json.loads(hub.read("org/small", "release.json", "v1.0.0")) == manifest

    origin, rows = json.loads(types(LOAD))
    assert origin == f"org/small@{hub.sha('org/small', 'v1.0.0')}"
    assert rows > 10

    release = ["--release", "org/small@v1.0.0"]
    run = ["evaluate", "method.py:nearest", *release, "--features", "pixels", "-o"]
    types("fslbench", *run, "nearest.parquet")
    scored = types("fslbench", "score", "nearest.parquet", *release, "--format", "json")
    signature = json.loads(scored)["signature"]
    assert (signature["hub"], signature["release_digest"]) == (origin, manifest["digest"])

    hub.create_repo("org/results", files={"leaderboard.toml": b'releases = ["org/small@v1.0.0"]\n'})
    sent = types("fslbench", "submit", "nearest.parquet", "--to", "org/results")
    assert sent.strip().endswith("/discussions/1")
    hub.merge("org/results", 1)
    found = types("fslbench", "leaderboard", "--results", "org/results")
    assert "nearest" in found
    assert "pixels/NCC" in found

    hub.client_env["HF_HUB_OFFLINE"] = "1"
    hub.requests.clear()
    types("fslbench", *run, "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "nearest.parquet").read_bytes()
    assert not hub.requests  # all from the cache

    for path in tmp_path.rglob("*"):  # nor does any file, but the one that a login would write
        if path.is_file() and path.name != "token":
            assert hub.client_env["HF_TOKEN"].encode() not in path.read_bytes(), path
