"""Numbers of queries: the sweep on the embedded digits, and releases made by its choice."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from commands import invoke, printed
from msgspec import structs
from reference_heads import ncc
from scipy.stats import sem, t
from specs import HEAD, spec_in

from analysis_sql.planning.query_size import estimate_set, pool
from benchmark_spec.errors import FSLBenchError, SamplingError, SpecError
from benchmark_spec.manifest import MANIFEST_FILE
from benchmark_spec.protocol import Protocol, TaskSetName
from builders.cli.query_size import parse_queries
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.query_size.sweep import COMPARED, QuerySets, sweep
from builders.query_size.text import sentence, sweep_csv, sweep_json
from builders.release.build import build_release
from builders.release.verify import verify
from builders.sampling import draw_task_set
from fslbench_data.release.release import load_release
from fslbench_data.sampling.redraw import EVIDENCE
from fslbench_data.tasks import TaskSet, TaskSetInfo

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
    said = f"digits/{', '.join(names)}: recommended queries per class: "
    assert said in " ".join(printed("info", built, "--dataset", "digits").split())
    other = shutil.copytree(built, tmp_path / "other")
    manifest = (other / MANIFEST_FILE).read_text()
    (other / MANIFEST_FILE).write_text(manifest.replace('"seeds": 1', '"seeds": "2"'))
    told = invoke("info", other, "--dataset", "digits")
    assert told.exit_code == 2
    assert "cannot be read" in told.output


@pytest.mark.slow
def test_from_other_images_it_takes_no_results_of_these(tmp_path, embedded):
    """Classes and counts of the catalogue are enough, with α and w of another data set."""
    text = (
        f'{HEAD}{DIGITS}[[dataset]]\nname = "cub"\nsource = "catalogue"\n'
        'suites = ["open"]\nprotocols = ["5w5s"]\n'
        'queries = { dataset = "digits", seeds = 2, rule = "accuracy" }\n'
    )
    build_release(spec_in(tmp_path, text), tmp_path / "release")
    release = load_release(tmp_path / "release")
    (info,) = release.task_sets
    evidence = QueryEvidence.parse(release.provenance(info)[EVIDENCE])
    assert (evidence.images, evidence.dataset) == ("others", "digits")
    sets = QuerySets.of(embedded, "digits", "pixels", "NCC", way=5, shot=5, suite="open")
    assert sweep(sets, range(1, 16), seeds=2).estimate.alpha == evidence.alpha
    assert verify(tmp_path / "release").problems == ()


@pytest.mark.parametrize(
    ("task_set", "what"),
    [("allway-10w5s1000q", "allway-10w5s1747q"), ("episodes-3w5s5q", "up to 3 of 10 classes")],
)
def test_a_set_that_cannot_be_drawn_is_refused(tmp_path, task_set, what):
    suite = task_set.partition("-")[0]
    text = f"""{HEAD}protocols = ["5w1s"]\nqueries.seeds = 1\ntasks.{suite} = 3
{DIGITS}suites = ["open"]\ntask_sets = ["{task_set}"]\n"""
    steps = []
    with pytest.raises(SamplingError, match=what):
        build_release(spec_in(tmp_path, text), tmp_path / "release", progress=steps.append)
    assert not any("pixels" in step for step in steps)


_SWEPT = {}


def swept(release, shot, suite="open", **settings):
    """Sweep NCC on the digits; what several tests ask for is swept once."""
    key = f"{shot} {suite} {settings}"
    if key not in _SWEPT:
        sets = QuerySets.of(release, "digits", "pixels", "NCC", way=5, shot=shot, suite=suite)
        _SWEPT[key] = sweep(sets, **settings)
    return _SWEPT[key]


def test_observed_is_what_the_tasks_say(embedded):
    found = swept(embedded, 1, queries=[1, 3], seeds=2)
    features = embedded.features("digits", "pixels").astype(np.float64)
    sizes = embedded.classes("digits").column("n_images").to_pylist()
    widths, estimates, means, tasks = [], [], [], []
    for seed in range(2):
        name = TaskSetName("open", Protocol(5, 1, 3))
        table, _ = draw_task_set("digits", name, sizes, seed=seed)
        task_set = TaskSet.from_table(TaskSetInfo("digits", name, len(table), ""), table)
        x = np.zeros((len(table), 5), int)
        for task in task_set:
            predicted = ncc(features[task.support], features[task.query]).argmax(axis=1)
            for p, label in zip(predicted, task.query_label, strict=True):
                x[task.task_id, label] += p == label
        accuracy = 100 * x.sum(axis=1) / 15
        widths.append(t.ppf(0.975, len(x) - 1) * sem(accuracy))
        means.append(accuracy.mean())
        estimates.append([estimate_set(x, 3)])
        tasks.append(len(x))
    row = {r.query: r for r in found.rows}[3]
    assert row.observed == pytest.approx(np.mean(widths))
    assert row.observed_error == pytest.approx(np.std(widths, ddof=1) / np.sqrt(2))
    assert row.accuracy == pytest.approx(np.mean(means))
    assert row.tasks == np.mean(tasks)
    assert found.estimate == pool(estimates, 1)


@pytest.mark.slow
def test_the_model_explains_what_is_observed(embedded):
    """Half-widths within 8 %; a sample deviation is below its root mean square at small T."""
    for row in swept(embedded, 5, queries=range(1, 16)).rows:
        assert -0.08 < row.observed / row.model - 1 < 0.04


@pytest.mark.parametrize(("shot", "low", "high"), [(1, 2, 2), (5, 5, 8), (10, 7, 12)])
@pytest.mark.slow
def test_digits_best(embedded, root, shot, low, high):
    found = swept(embedded, shot, queries=range(1, 16))
    assert low <= found.choice.best <= high
    observed = {row.query: row.observed or np.inf for row in found.rows}
    assert observed[found.choice.best] < 1.06 * min(observed.values())
    usual = found.choice.cost_of({1: 1, 5: 5, 10: 7}[shot])  # the paper's Q: hardly worse
    assert usual.cost < 0.05
    assert sentence(found) in (root / "studies/query_size/model.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("queries", [[5, *range(12, 21)], list(range(1, 6)), [7]])
def test_gaps_in_what_is_swept_make_no_answer(embedded, queries):
    """Every whole Q is compared, so that what was swept moves Q* no more than its noise does."""
    full = swept(embedded, 10, queries=range(1, 16))
    found = swept(embedded, 10, queries=queries)
    assert full.choice.best == 8
    assert found.choice.best in (7, 8, 9)
    assert found.choice.low in (4, 5, 6)
    assert found.choice.tried == tuple(range(1, max(3 * max(queries), 30) + 1))
    assert [row.query for row in found.rows] == sorted({*queries, 1, 5, 7})
    assert found.choice.cost_of(8).cost == pytest.approx(0.0, abs=0.01)


def test_tasks_are_counted_as_they_are_drawn(embedded):
    for suite in ("open", "balanced", "grouped"):
        sizes = tuple(embedded.classes("digits").column("n_images").to_pylist())
        groups = np.arange(sum(sizes)) // 3 if suite == "grouped" else None
        sets = Draws("digits", suite, 5, 2, sizes, groups)
        for query in (1, 8, 40):
            for seed in (0, 1):
                assert sets.tasks(query, seed) == len(sets.draw(query, seed))
        assert sets.tasks(200, 0) == 0


@pytest.mark.slow
def test_the_end_of_what_is_compared(embedded):
    """The last Q is said to be that or more only where the search, not the tasks, ended there."""
    near = swept(embedded, 5, queries=range(1, 16))
    assert (near.choice.tried[-1], near.choice.more) == (45, True)
    far = swept(embedded, 5, queries=[2, 150], seeds=2)
    last = far.choice.tried[-1]
    assert 150 <= last < 176
    assert not far.choice.more
    for more, said in ((True, f"Q* = {last} or more, "), (False, f"Q* = {last}, ")):
        choice = structs.replace(far.choice, best=last, more=more)
        assert sentence(replace(far, choice=choice)).startswith(said)


def test_what_cannot_be_swept(embedded):
    for asked, said in (
        ({"queries": [2, 177]}, "3 of 10 classes have at least 182 images"),
        ({"queries": [1]}, r"tasks are \d+ at Q = 1 "),
        ({"queries": [170]}, "1 at Q = 170"),
        ({"suite": "published"}, "without replacement"),
        ({"level": 95}, "confidence level"),
        ({"seeds": 0}, "0 seeds"),
    ):
        with pytest.raises(FSLBenchError, match=said):
            swept(embedded, 5, **{"queries": [2, 3], "seeds": 2, **asked})


def test_a_q_of_single_tasks_has_no_interval(embedded):
    found = swept(embedded, 5, queries=[5, 150], seeds=2)
    last = found.rows[-1]
    assert (last.query, last.tasks) == (150, 2.0)
    assert last.observed is not None
    assert last.model is not None
    found = swept(embedded, 5, queries=[5, 170], seeds=2)
    last = found.rows[-1]
    assert (last.query, last.tasks, last.observed, last.model) == (170, 1.0, None, None)
    assert 170 not in found.choice.tried
    assert sweep_csv(found).splitlines()[-1].startswith("170,1.0,")
    json.loads(sweep_json(found))


def test_reading_queries():
    assert parse_queries("1-4") == [1, 2, 3, 4]
    assert parse_queries("40, 1,2-3,3") == [1, 2, 3, 40]
    for text in ("", "0", "3-1", "1-", "a", "1..5", "-3", "1,,2"):
        with pytest.raises(SpecError, match="numbers of queries"):
            parse_queries(text)
