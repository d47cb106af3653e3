"""`fslbench score --bias`: steps, gaps, what is left out, and every format."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from biased_release import write_biased
from msgspec.structs import replace
from recorded import in_run, recorded
from scipy import stats

from benchmark_spec.errors import SubmissionError
from fslbench_data.cli.options import Output
from fslbench_data.cli.score import write_bias
from fslbench_data.release.release import load_release
from fslbench_data.render.bias_tables import bias_tables
from fslbench_data.render.page.make import page_of
from fslbench_data.scoring.bias import bias
from fslbench_data.scoring.score import score
from fslbench_data.scoring.selection import Selection
from fslbench_data.submission.merging import merge, renamed
from fslbench_data.submission.recorder import Recorder


def _guesses(release, name, seed=0, level=None):
    """Right on three queries in four, on biased steps on one in two; or as said, on open tasks."""
    rng = np.random.default_rng(seed)
    recorder = Recorder(name)
    for info in release.task_sets:
        if level and info.name.interval != "open":
            continue
        share = level or (0.5 if "biased" in str(info.name) else 0.75)
        for task in release.task_set("things", str(info.name)):
            right = rng.random(9) < share
            recorder.add(task, np.where(right, task.query_label, (task.query_label + 1) % 3))
    return recorder.submission()


@pytest.mark.slow
def test_ladders_are_compared_by_how_they_rank_three_methods(biased):
    three = merge([_guesses(biased, name, seed) for seed, name in enumerate("abc")])
    agreement = bias(three, biased).agreement
    assert [(r.first, r.second) for r in agreement] == [
        (
            f"wAcc on things/{o}*_words-3w2s3q, last step",
            f"wAcc on things/{o}*_style-3w2s3q counterfactual, last step",
        )
        for o in ("", "open_")
    ]
    assert agreement[1].found.tasks != agreement[1].found.other_tasks


def test_a_prefix_and_some_steps(biased):
    recorder, rng = Recorder("part"), np.random.default_rng(0)
    for step, number in (("random", 15), ("inter", 4)):
        tasks = biased.task_set("things", f"{step}_words-3w2s3q")
        wrong = rng.random((number, 9)) < 0.25
        recorder.add_task_set(tasks, (tasks.query_label[:number] + wrong) % 3)
    (ladder,) = bias(recorder.submission(), biased).ladders
    assert {key[2:]: of.accuracy.tasks for key, of in ladder.values.items()} == {
        ("random", ""): 15, ("inter", ""): 4, ("random", "inter"): 4,
    }  # fmt: skip


def test_steps_of_different_numbers_of_tasks(tmp_path):
    """They have the first tasks in common, on which methods are ranked by both ends."""
    write_biased(tmp_path / "r", ["random_words", "biased_words"], random_words=9)
    release = load_release(tmp_path / "r")
    three = merge([_guesses(release, name, seed) for seed, name in enumerate("abc")])
    (ladder,) = bias(three, release).ladders
    rows = three.table.to_pylist()

    def worst(method, step):
        own = [r for r in rows if (r["method"], r["task_set"]) == (method, f"{step}_words-3w2s3q")]
        return float(np.mean([min(r["class_correct"]) for r in own if r["task_id"] < 9]))

    by_accuracy, by_worst = (ranking.found for ranking in ladder.rankings)
    assert (by_accuracy.tasks, by_worst.tasks) == (15, 9)
    both = [[worst(method, step) for method in "abc"] for step in ("random", "biased")]
    assert by_worst.value == pytest.approx(stats.spearmanr(*both).statistic)
    assert ladder.values["a", "", "random", "biased"].accuracy.tasks == 9
    page = page_of(three, release, Selection()).write(tmp_path / "page")
    assert "wAcc" in page.read_text(encoding="utf-8")


def test_what_is_left_out(biased):
    mine = _guesses(biased, "mine")
    info = biased.task_set_info("things", "random_words-3w2s3q")
    counted = recorded(info, np.full(15, 5), "only counts")
    (ladder, *_) = bias(merge([mine, counted]), biased).ladders
    assert [*ladder.by_method] == ["mine"]
    assert ladder.left_out == ("only counts",)


def test_the_nearest_references_are_shown(embedded):
    chosen = Selection.of((), "emoji", "same_style-5w5s5q")
    part = replace(embedded.reference("mobilenet_v2/NCC"), methods={})
    both = {"mobilenet_v2/NCC", "mobilenet_v2/LR"}
    others = {"mobilenet_v2/own": "mobilenet_v2/MatchingNet", "own": "efficientnet_lite2/LR"}
    for name, other in others.items():
        report = bias(renamed(part, {"mobilenet_v2/NCC": name}), embedded, chosen)
        for every, names in ((False, {name, other, *both}), (True, {*report.ladders[0].by_method})):
            rows = bias_tables(report, all_references=every)[0].rows
            assert {row[0] for row in rows} == names


@pytest.mark.slow
def test_a_ladder_that_is_named_is_scored_with_its_other_sets(embedded):
    chosen = {"against": "efficientnet_lite0/NCC", "datasets": "emoji"}
    sets = ["counterfactual_style-5w5s5q", "open-5w5s5q"]
    named = score(None, embedded, **chosen, task_sets=sets)
    assert [each.scored.task_set for each in named.sets] == [
        "open-5w5s5q", "same_style-5w5s5q", "any_style-5w5s5q", "other_style-5w5s5q",
    ]  # fmt: skip
    assert named.left_out == ()


def test_ladders_say_where_runs_are_not_counted(biased, tmp_path):
    parts = [in_run(_guesses(biased, "mine", seed), str(seed)) for seed in (1, 2)]
    write_bias(bias(merge(parts), biased), Output("table", tmp_path / "bias.txt"))
    text = " ".join((tmp_path / "bias.txt").read_text().split())
    said = "Several runs of mine: their mean. Intervals do not count how runs differ."
    closed = [each for each in bias(merge(parts), biased).ladders if each.kind == "closed"]
    assert text.count(said) == len(closed) > 0


def test_runs_are_the_same_on_every_step(biased):
    """Under their names: what is lost between different models is not lost from step to step."""
    both = merge([in_run(_guesses(biased, "mine", seed), str(seed)) for seed in (1, 2)])
    column = both.table["run"].cast(pa.string())
    renamed = pc.and_(
        pc.match_substring(both.table["task_set"].cast(pa.string()), "biased"),
        pc.equal(column, "2"),
    )
    for table in (
        both.table.filter(pc.invert(renamed)),
        both.table.drop("run").append_column("run", pc.if_else(renamed, "3", column)),
    ):
        with pytest.raises(SubmissionError, match=r"mine has the runs 1, 2 on .*, and 1") as caught:
            bias(replace(both, table=table), biased)
        assert "under the same names" in caught.value.expected


def test_equal_methods_of_very_different_runs(biased):
    # one is lucky in all three runs, the other in one; each has runs 40 points apart
    levels = {"a": (0.95, 0.9, 0.5), "b": (0.9, 0.5, 0.45)}
    parts = [
        in_run(_guesses(biased, name, 10 * i + ord(name), level), str(i))
        for name, own in levels.items()
        for i, level in enumerate(own)
    ]
    both = merge(parts)
    last = pc.match_substring(both.table["task_set"].cast(pa.string()), "biased")
    rows = both.table.filter(last)
    behind = rows.take(np.arange(rows.num_rows)[::-1])  # the last step's runs in another order
    table = pa.concat_tables([both.table.filter(pc.invert(last)), behind])
    (ladder, _) = bias(replace(both, table=table), biased).ladders
    assert ladder.of_one_model == ()
    (pair,) = ladder.pairs
    alone = [bias(part, biased).ladders[0].values for part in parts[:3]]
    for step in ladder.by_method["a"]:
        key = "a", "", step, ""
        accuracies = [of[key].accuracy.mean for of in alone]
        assert ladder.values[key].accuracy.mean == pytest.approx(np.mean(accuracies))
        found = ladder.values[*pair, step, ""]
        for interval in (found.accuracy, found.worst, found.excess):
            assert interval is not None
            assert interval.halfwidth is not None
            assert abs(interval.mean) < interval.halfwidth
    # a run is as good on every step, so that gaps vary much less than accuracies
    *_, last = ladder.by_method["a"]
    ends = ("random", ""), ("random", last)
    widths = [ladder.values["a", "", *end].accuracy.halfwidth for end in ends]
    assert widths[0] is not None
    assert widths[1] is not None
    assert widths[0] > 3 * widths[1]


@pytest.mark.slow
def test_one_training_run_is_named(biased, tmp_path):
    parts = [in_run(_guesses(biased, "several", i, 0.8), str(i)) for i in range(2)]
    one = _guesses(biased, "one", 5, 0.7)
    fixed = _guesses(biased, "fixed", 6, 0.6)
    fixed = replace(fixed, methods={"fixed": replace(fixed.methods["fixed"], trained=False)})
    report = bias(merge([*parts, one, fixed]), biased)
    write_bias(report, Output("json", tmp_path / "bias.json"))
    assert report.ladders[0].of_one_model == ("one",)
    rows = json.loads((tmp_path / "bias.json").read_text())["rows"]
    told = {(row["method"], row["versus"]): row["of_one_model"] for row in rows if row["method"]}
    assert told == {
        ("several", ""): "", ("one", ""): "method", ("fixed", ""): "",
        ("several", "one"): "versus", ("several", "fixed"): "", ("one", "fixed"): "method",
    }  # fmt: skip
