"""Printed results: what follows for new images and new classes from the sizes of a data set."""

import json
from math import sqrt

import numpy as np
import pytest
from commands import invoke, printed
from scipy import stats

import fslbench_data as fb
from analysis_sql.leave_one_out.design import TaskDesign
from benchmark_spec.errors import FSLBenchError
from benchmark_spec.protocol import Protocol
from fslbench_data.cli.options import FORMATS
from fslbench_data.sampling.draw import draw_closed
from fslbench_data.scoring.reported import Design

SIZES = {"dataset": "miniImageNet", "ways": 5, "shots": 5, "queries": 15}
MINI = {**SIZES, "tasks": 600}


def test_a_result_by_hand():
    (one,) = fb.reported("91.72 ± 0.55", **MINI).results
    assert one.tasks == pytest.approx(0.55)
    of_tasks, of_classes = (stats.t.ppf(0.975, [599, 19]) / stats.norm.ppf(0.975)).tolist()
    assert one.images == pytest.approx(0.55 * of_tasks * sqrt(1 + 600 * (1 / 120) / (119 / 120)))
    assert one.classes == pytest.approx(0.55 * of_classes * sqrt(1 + 600 * 5 / 15))
    assert (f"{one.images:.2f}", f"{one.classes:.2f}") == ("1.35", "8.33")
    assert one.tasks < one.typical_images < one.images
    assert one.tasks < one.typical_classes < one.classes


@pytest.mark.parametrize("two_valued", [False, True])
def test_few_classes_are_told_apart_as_rarely_as_promised(two_valued):
    """Equal methods whose classes alone differ; with the normal law's quantile 10 to 12 %."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(400):
        effects = rng.choice([-3.0, 3.0], (2, 7)) if two_valued else rng.normal(0, 3, (2, 7))
        tasks, noise = np.argsort(rng.random((600, 7)), axis=1)[:, :5], rng.normal(75, 4, 600)
        accuracies = {m: noise + effects[i][tasks].mean(axis=1) for i, m in enumerate("ab")}
        found = fb.reported(accuracies, classes=7, images=100, ways=5, shots=5, queries=15)
        wrong += found.differences[0].significant["classes"]
    assert wrong <= 28  # 7 %


def test_the_bounds_are_those_of_tasks_that_are_known():
    sizes, protocol = [40, 31, 57, 30, 44, 36, 90], Protocol(5, 2, 3)
    drawn = draw_closed(sizes, protocol, dataset="x", seed=1, tasks=200)
    images = np.concatenate([drawn.support, drawn.query], axis=2)
    images = images + (np.cumsum(sizes) - sizes)[drawn.class_ids][..., None]
    known = TaskDesign.of(drawn.class_ids, images, np.repeat(np.arange(7), sizes))
    design = Design(7, 30, 5, 2, 3, 200)
    assert design.image_factor**2 == pytest.approx(known.bound("images"))
    assert design.class_factor**2 == pytest.approx(max(map(known.bound, ("images", "classes"))))


@pytest.mark.parametrize(
    "text",
    [
        "91.72 ± 0.55",
        "91.72±0.55",
        "91.72 +- 0.55",
        "91.72+/-0.55",
        "91.72 (0.55)",
        "91.72% ± 0.55%",
        r"$91.72_{\pm 0.55}$",
        r"\textbf{91.72} {\scriptstyle\pm 0.55}",
        "0.9172 ± 0.0055",
    ],
)
def test_ways_to_print_a_result(text):
    (one,) = fb.reported(text, **MINI).results
    assert (one.mean, one.tasks) == (pytest.approx(91.72), pytest.approx(0.55))


def test_standard_errors_and_deviations():
    (ci,) = fb.reported("80 ± 0.9799820", **MINI).results
    (se,) = fb.reported("80 ± 0.5", **MINI, spread="se").results
    (sd,) = fb.reported(f"80 ± {sqrt(150):.6f}", **MINI, spread="sd").results
    assert ci.images == pytest.approx(se.images) == pytest.approx(sd.images)
    assert not ci.warning
    (few,) = fb.reported("91.72 ± 0.02", **MINI).results
    assert "is it a standard error" in few.warning
    (share,) = fb.reported("0.9172 ± 0.55%", **MINI).results
    assert "0.9172 is read as per cent: is it a share" in share.warning
    (few,) = fb.reported("91.72 ± 0.04", **MINI, spread="sd").results
    assert "is it a confidence interval" in few.warning
    (wide,) = fb.reported("78.1 ± 0.6", **MINI | {"tasks": 10_000}).results
    assert "tasks would vary by 30.6 points, by chance alone by 4.8" in wide.warning


@pytest.mark.parametrize(
    ("text", "changed", "what"),
    [
        ("91.72", {}, "neither a result nor a file"),
        (__file__, {}, "does not end in .csv"),
        ("191.72 ± 0.55", {}, "the mean is 191.72"),
        ("91 ± 8", {}, r"(?s)more than is possible.*it can be a standard deviation \(--spread sd"),
        ("0.9172 ± 0.55", {}, "both in per cent, or both as shares of 1"),
        ("100 ± 0", {}, "100 ± 0: tasks that do not differ say nothing"),
        ("91.72 ± 0.55", {"ways": 21}, "tasks of 21 ways from 20 classes"),
        ("91.72 ± 0.55", {"queries": 600}, "takes 605 images of a class"),
        ("91.72 ± 0.55", {"tasks": 1}, "tasks is 1"),
        ("91.72 ± 0.55", {"tasks": None}, "how many tasks"),
        ("91.72 ± 0.55", {"dataset": "minimagenet"}, "did you mean 'miniImageNet'"),
        ("91.72 ± 0.55", {"dataset": "cropdisease"}, "how many images"),
        ("91.72 ± 0.55", {"dataset": None}, "how many classes"),
        ("91.72 ± 0.55", {"ways": None}, "give --ways"),
        ("91.72 ± 0.55", {"dataset": "digit"}, "did you mean 'digits'"),
        ("91.72 ± 0.55", {"level": 95}, "95 is not a confidence level"),
        ("91.72 ± 0.55", {"spread": "std"}, "spread is 'std'"),
        ("91.72 ± 0.55", {"tasks": 10**400}, "tasks is 1000"),
        ("91.72 ± 0.55", {"tasks": "600,5"}, "tasks is '600,5'"),
        ("57.6(4)", {}, "may mean units of the last digit"),
        ([0.5, 0.7], {"tasks": None, "spread": "se"}, "accuracies have no printed ±"),
        ([0.5], {"tasks": None}, "accuracies are of shape"),
        ([0.5, float("nan")], {"tasks": None}, "1 accuracies are not numbers from 0 to 1"),
        ([50.0, float("nan")], {"tasks": None}, "1 accuracies are not numbers from 0 to 100"),
        ((x for x in [0.5, 0.7]), {}, "'0.5' is no printed result"),
        ([50.0, 101.0], {"tasks": None}, "1 accuracies are not numbers from 0 to 100"),
        ([0.5, 0.7], {"tasks": None, "ways": None}, "not known how many ways"),
        ([0.5, 0.7], {"tasks": 3}, "tasks is 2, and 3 as an option"),
    ],
)
def test_what_cannot_be_is_refused(text, changed, what):
    with pytest.raises(FSLBenchError, match=what):
        fb.reported(text, **{**MINI, **changed})


def test_where_every_task_has_all_classes_nothing_is_said_of_new_ones():
    about = MINI | {"dataset": None, "classes": 5, "images": 600}
    found = fb.reported([{"result": "91 ± 0.5"}, {"result": "20 ± 0.5"}], **about)
    assert found.results[0].classes is None is found.results[0].typical_classes
    (pair,) = found.differences
    assert pair.significant == {"tasks": True, "images": True, "classes": False}


TABLE = """method,dataset,shots,result
ProtoNet,miniImageNet,1,49.42 ± 0.78
ProtoNet,miniImageNet,5,68.20 ± 0.66
RelationNet,miniImageNet,1,50.44 ± 0.82
RelationNet,miniImageNet,5,65.32 ± 0.70
MatchingNet,miniImageNet,5,55.31 ± 0.73
"""


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (TABLE.replace("shots", "shot"), "unknown column 'shot'; did you mean 'shots'"),
        (TABLE.replace("dataset", "data"), "unknown column 'data'; did you mean 'dataset'"),
        (TABLE.replace("method", "shots"), "doubles column 'shots'"),
        (TABLE.replace("49.42", "49,42"), "Row #2: Expected 4 columns, got 5"),
        (TABLE.replace("55.31 ± 0.73", "55.31"), r"(?s)'55.31' is no printed result.*row 5"),
        ("name,value\na,1\n", "there is no column 'result'"),
        (TABLE.replace("RelationNet", "ProtoNet"), r"(?s)in row 1.*row 3"),
        (TABLE.replace("RelationNet,mini", "ProtoNet,mini-"), r"(?s)in row 1.*row 3"),
    ],
)
def test_a_table_that_is_refused(table, what, tmp_path):
    (path := tmp_path / "table.csv").write_text(table, encoding="utf-8")
    with pytest.raises(FSLBenchError, match=what):
        fb.reported(path, ways=5, queries=15, tasks=600)


def test_an_option_beside_a_column_says_the_same():
    row = {"result": "91.72 ± 0.55", **MINI, "tasks": "1,000"}
    (one,) = fb.reported([row], dataset="mini-imagenet", tasks=1000).results
    assert str(one.design).startswith("1,000 tasks")
    for rows, option, said in (
        ([row], {"shots": 1}, "shots is 5, and 1 as an option"),
        ([{**row, "shot": 5}], {}, "unknown column 'shot'"),
    ):
        with pytest.raises(FSLBenchError, match=said):
            fb.reported(rows, **option)
    (one,) = fb.reported("91.72 ± 2", **MINI | {"dataset": "digits"}).results
    assert str(one.design).endswith("digits, 10 classes of at least 174 images")


ACCURACIES = np.random.default_rng(0).binomial(75, 0.8, 600) / 75


@pytest.mark.parametrize("name", ["a.npy", "a.txt", "a.csv"])
@pytest.mark.parametrize("scale", [1, 100])
def test_accuracies_without_ids(name, scale, tmp_path):
    file = tmp_path / name
    np.save(file, scale * ACCURACIES) if name == "a.npy" else np.savetxt(file, scale * ACCURACIES)
    (one,) = fb.reported(file).results
    assert one.mean == pytest.approx(100 * ACCURACIES.mean())
    assert one.tasks == pytest.approx(196 * ACCURACIES.std(ddof=1) / sqrt(600), rel=1e-4)
    assert (one.design, one.images, one.classes, one.n_tasks) == (None, None, None, 600)
    (bounded,) = fb.reported((scale * ACCURACIES).tolist(), **SIZES).results
    (printed,) = fb.reported(f"{one.mean:.9f} ± {one.tasks:.9f}", **SIZES, tasks=600).results
    for kind in ("tasks", "images", "typical_images", "classes", "typical_classes"):
        assert getattr(bounded, kind) == pytest.approx(getattr(printed, kind))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.csv", "accuracy\n0.5\n\n0.7\n", "no accuracy in line 3"),
        ("a.csv", ",accuracy\n0,0.5\n1,0.7\n\n", 60),
        ("a.csv", 'accuracy\n"50,5"\n"70,5"\n', "could not convert"),
        ("a.txt", "0,50\n0,70\n", "0,50: one number, or two"),
        ("a.txt", "0.5,0.7, 0.6", 60),
        ("a 1 (2).csv", 'result\n"60 ± 1"\n', 60),
    ],
)
def test_files_of_numbers(name, text, found, tmp_path):
    (tmp_path / name).write_text(text)
    sizes = MINI if "(" in name else {}
    if isinstance(found, str):
        with pytest.raises(FSLBenchError, match=found):
            fb.reported(tmp_path / name)
    else:
        assert fb.reported(str(tmp_path / name), **sizes).results[0].mean == pytest.approx(found)


OF_SIZES = ["--dataset", "miniImageNet", "--ways", "5", "--shots", "5", "--queries", "15"]


def test_the_command_takes_accuracies(tmp_path):
    np.save(file := tmp_path / "a.npy", ACCURACIES)
    (one,) = fb.reported(file, **SIZES).results
    said = printed("score", file)
    assert f"{one.mean:.2f} ± {one.tasks:.2f} (95 %): 600 tasks" in said
    for line in ("other tasks of the same images", "not known", "again from its seed"):
        assert line in said
    assert f"± {one.images:.2f} at most" in printed("score", file, *OF_SIZES)
    assert json.loads(printed("score", file, "--format", "json"))["results"][0]["n_tasks"] == 600
    assert ",600," in printed("score", file, "--format", "csv")


def test_accuracies_of_the_same_tasks_are_compared_task_by_task(tmp_path):
    rng = np.random.default_rng(1)
    ours, theirs = ACCURACIES, np.clip(ACCURACIES - rng.normal(0.006, 0.04, 600), 0, 1)
    found = fb.reported({"a/theirs": theirs, "b/ours": ours}, **SIZES)
    (pair,) = found.differences
    apart = 100 * (ours - theirs)
    assert (pair.first.method, pair.second.method) == ("b/ours", "a/theirs")
    assert pair.difference == pytest.approx(apart.mean())
    design, apart_by = pair.first.design, pair.halfwidths
    width = stats.t.ppf(0.975, 599) * apart.std(ddof=1) / np.sqrt(600)
    assert apart_by["tasks"] == pytest.approx(width)
    assert apart_by["tasks"] < 0.6 * np.hypot(pair.first.tasks, pair.second.tasks)
    assert apart_by["images"] == pytest.approx(width * design.image_factor)
    of_classes = stats.t.ppf(0.975, 19) / stats.t.ppf(0.975, 599)
    assert apart_by["classes"] == pytest.approx(width * of_classes * design.class_factor)
    assert pair.significant == {"tasks": True, "images": False, "classes": False}
    files = [str(tmp_path / name) for name in ("ours.npy", "theirs.npy", "same.npy")]
    for file, values in zip(files, (ours, theirs, ours), strict=True):
        np.save(file, values)
    for sizes in ([], OF_SIZES):
        for form in FORMATS:
            text = printed("score", *files, *sizes, "--format", form)
            if form == "table":
                assert f"{apart.mean():.2f} ± {width:.2f}" in text
                assert "0.00 ± 0.00" in text
                assert ("Hoeffding" in text) == bool(sizes)
            if form == "json":
                (told, *_) = json.loads(text)["differences"]
                assert told["difference"] == pytest.approx(apart.mean(), abs=1e-6)
    for read, sources, said in (
        (fb.reported, [{}], "there are no results"),
        (fb.score, [ours], "go to fb.reported"),
        (fb.reported, [{"a": ours, "b": ours[:500]}], "600 tasks in a, 500 tasks in b"),
        (fb.compare, files[:2], "accuracies alone, one per task: fslbench score"),
    ):
        with pytest.raises(FSLBenchError, match=said):
            read(*sources)


def test_counts_are_no_accuracies():
    """Read as per cent, they would give a mean of 60 in place of 80."""
    counts = np.rint(75 * ACCURACIES)
    with pytest.raises(FSLBenchError, match="no per cent of 75 queries") as caught:
        fb.reported(counts, **SIZES)
    assert "divide them by 75" in str(caught.value)
    (alone,) = fb.reported(counts).results
    assert "all accuracies are whole numbers" in alone.warning
    whole = np.rint(20 * ACCURACIES[:100]) * 5  # of 20 queries
    assert not fb.reported(whole).results[0].warning
    assert fb.reported(whole, **{**SIZES, "queries": 4}).results[0].mean == whole.mean()
    assert "0.9 and 84 are both read" in fb.reported(np.array([84.0, 0.9, 1])).results[0].warning


def test_options_of_other_results(tmp_path):
    np.save(file := tmp_path / "accs.npy", np.array([0.5, 0.7]))
    (indexed := tmp_path / "indexed.csv").write_text("task,accuracy\n0,0.5\n1,0.7\n")
    (printed := tmp_path / "printed.csv").write_text("method,result\nours,91.72 ± 0.55\n")
    for words, said in (
        (["score", file, "--against", "NCC"], "--against does nothing for accuracies alone"),
        (["score", "--ways", "5"], "--ways is of accuracies alone"),
        (["score", "x.parquet", "--ways", "5"], "there is no file x.parquet"),
        (["score", indexed, "--ways", "5"], "indexed.csv is not; leave only its column accuracy"),
        (["score", printed, "--ways", "5"], f"printed results: fslbench reported {printed}"),
        (["score", printed], "printed results, such as 91.72 ± 0.55, go to fslbench reported"),
    ):
        result = invoke(*words)
        assert result.exit_code == 2
        assert said in " ".join(result.output.split())


def test_means_that_differ_by_rounding_alone_are_not_significantly_different():
    right = np.random.default_rng(6).integers(20, 70, 600)
    (pair,) = fb.reported({"a": right / 75, "b": right / 5 / 15}).differences
    assert 0 < pair.difference < 1e-12
    assert not any(pair.significant.values())


def test_equal_accuracies_say_nothing_of_other_images_however_they_round():
    for accuracy in (0.5, 1 / 3, 0.1):
        (alone,) = fb.reported([accuracy] * 50).results
        assert alone.tasks == 0
        assert "all 50 tasks are equal" in alone.warning
        with pytest.raises(FSLBenchError, match="tasks that do not differ"):
            fb.reported([accuracy] * 50, **SIZES)


def test_accuracies_divided_twice_are_doubted():
    tasks = {**MINI, "tasks": None}
    (one,) = fb.reported([0.0092, 0.0084], **tasks).results
    assert "less than one right answer of 75 queries" in one.warning
