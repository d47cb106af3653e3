"""Releases whose numbers of queries are chosen: what they hold, and whether it can be checked."""

import json
import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner
from specs import HEAD, spec_in

from benchmark_spec.errors import SamplingError
from benchmark_spec.manifest import MANIFEST_FILE
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.query_size.sweep import COMPARED, QuerySets, sweep
from builders.release.build import build_release
from builders.release.verify import verify
from fslbench_data.cli import main
from fslbench_data.release.release import load_release
from fslbench_data.tasks.redraw import EVIDENCE

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")

DIGITS = """
[[dataset]]
name = "digits"
features = ["pixels"]
"""
SPEC = f"""{HEAD}
protocols = ["5w1s1q", "5w5s", "5w1s"]
queries = {{ seeds = 1 }}
tasks = {{ closed = 20, pooled = 30 }}
drawn = ["pooled"]
{DIGITS}
suites = ["open", "closed"]
task_sets = ["pooled-5w5s"]
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    build_release(spec_in(folder, SPEC), folder / "release")
    return folder / "release"


@pytest.fixture(scope="module")
def release(built):
    return load_release(built)


@pytest.mark.slow
def test_the_number_is_the_one_that_a_sweep_chooses(release, embedded):
    names = [str(info.name) for info in release.task_sets]
    how = {"way": 5, "shot": 5, "suite": "open", "compared": COMPARED}
    sets = QuerySets.of(embedded, "digits", "pixels", "NCC", **how)
    swept = sweep(sets, range(1, 16), seeds=1).comparisons
    assert swept is not None
    assert {f"open-5w5s{swept.best}q", f"closed-5w5s{swept.best}q"} <= set(names)
    assert "open-5w1s1q" in names  # beside the paper's
    assert sum(name.startswith("pooled-5w5s") for name in names) == 1


def test_the_manifest_says_why(release):
    for info in release.task_sets:
        provenance = release.provenance(info)
        if str(info.protocol) == "5w1s1q":
            assert EVIDENCE not in provenance
            continue
        evidence = QueryEvidence.parse(provenance[EVIDENCE])
        assert evidence.query == info.protocol.query
        found = (evidence.images, evidence.dataset, evidence.method)
        assert found == ("these", "digits", "pixels/NCC")
        pairs = 5 if info.protocol.shot == 1 else 6  # NCC and MatchingNet are one at one shot
        assert (evidence.rule, len(evidence.pairs)) == ("comparisons", pairs)
        assert evidence.swept == tuple(range(1, 16))
        assert evidence.low is not None
        assert evidence.low <= evidence.query
        assert [row["query"] for row in evidence.rows] == list(evidence.swept)
        assert evidence.as_json() == provenance[EVIDENCE]


@pytest.mark.slow
def test_it_is_chosen_again_by_verify(built, tmp_path):
    verification = verify(built)
    assert (verification.problems, verification.drawn_again) == ((), 7)
    other = shutil.copytree(built, tmp_path / "other")
    manifest = json.loads((other / MANIFEST_FILE).read_text())
    tables = [t for t in manifest["tables"] if t["name"].startswith("open-5w5s")]
    for one in tables[0]["provenance"][EVIDENCE]["pairs"]:
        one["w"] *= 40
    (closed,) = (t for t in manifest["tables"] if t["name"].startswith("closed-5w5s"))
    closed["provenance"][EVIDENCE] = {"query": 5}
    (other / MANIFEST_FILE).write_text(json.dumps(manifest))
    said = [problem.what for problem in verify(other).problems]
    assert any("its evidence gives" in what for what in said)
    assert any("cannot be checked" in what for what in said)


def test_info_says_which_sets_have_it(built, release, tmp_path):
    names = [str(info.name) for info in release.task_sets if "-5w5s" in str(info.name)]
    told = CliRunner().invoke(main, ["info", str(built), "--dataset", "digits"])
    said = f"digits/{', '.join(names)}: recommended queries per class: "
    assert said in " ".join(told.stdout.split())
    other = shutil.copytree(built, tmp_path / "other")
    manifest = (other / MANIFEST_FILE).read_text()
    (other / MANIFEST_FILE).write_text(manifest.replace('"seeds": 1', '"seeds": "2"'))
    told = CliRunner().invoke(main, ["info", str(other), "--dataset", "digits"])
    assert told.exit_code == 2
    assert "cannot be read" in told.output


def test_evidence_of_before_there_were_rules_still_loads(release):
    """It is the evidence of one method's rule, and is checked as such."""
    info = next(info for info in release.task_sets if str(info.name).startswith("open-5w5s"))
    text = dict(release.provenance(info)[EVIDENCE])
    del text["rule"], text["pairs"]
    old = QueryEvidence.parse(text)
    assert (old.rule, old.pairs) == ("accuracy", ())
    other = replace(old, query=100)
    (problem,) = other.problems(Draws.of(release, "digits", "open", 5, 5))
    assert "its evidence gives" in problem


@pytest.mark.slow
def test_from_other_images_it_takes_no_results_of_these(tmp_path, embedded):
    """Classes and counts of the catalogue are enough, with α and w of another data set."""
    text = HEAD + (
        'protocols = ["5w5s"]\n[[dataset]]\nname = "cub"\nsource = "catalogue"\nsuites = ["open"]\n'
        'queries = { release = "embedded", dataset = "digits", features = "pixels", seeds = 2, '
        'rule = "accuracy" }\n'
    )
    build_release(spec_in(tmp_path, text), tmp_path / "release")
    release = load_release(tmp_path / "release")
    (info,) = release.task_sets
    evidence = QueryEvidence.parse(release.provenance(info)[EVIDENCE])
    assert (evidence.images, evidence.dataset) == ("others", "digits")
    assert evidence.release.startswith("release embedded@")
    sets = QuerySets.of(embedded, "digits", "pixels", "NCC", way=5, shot=5, suite="open")
    assert sweep(sets, range(1, 16), seeds=2).estimate.alpha == evidence.alpha
    assert verify(tmp_path / "release").problems == ()


@pytest.mark.parametrize(
    ("task_set", "what"),
    [("allway-10w5s1000q", "allway-10w5s1747q"), ("episodes-3w5s5q", "up to 3 of 10 classes")],
)
def test_a_set_that_cannot_be_drawn_is_refused(tmp_path, task_set, what):
    text = f"""{HEAD}protocols = ["5w1s"]\nqueries.seeds = 1\ntasks = {{ closed = 3, allway = 3 }}
{DIGITS}suites = ["open"]\ntask_sets = ["{task_set}"]\n"""
    steps = []
    with pytest.raises(SamplingError, match=what):
        build_release(spec_in(tmp_path, text), tmp_path / "release", progress=steps.append)
    assert not any("pixels" in step for step in steps)
