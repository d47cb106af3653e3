"""What every command prints and writes is what it printed before; see tests/golden/commands."""

import json
import tomllib

import golden_commands
import golden_inputs
import pytest

import fslbench_data as fb

CASES = tomllib.loads((golden_commands.FOLDER / "cases.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(c, id=c["name"], marks=[pytest.mark.slow] if c.get("slow") else [])
        for c in CASES
    ],
)
def test_commands(case, tmp_path, root, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    text = golden_commands.transcript(case["commands"], tmp_path, root)
    golden_commands.check(case["name"], text, tuple(case.get("needs", ())))


@pytest.mark.slow
def test_what_python_gives(tmp_path, monkeypatch, root):
    monkeypatch.chdir(tmp_path)
    parts = []

    def keep(title, value):
        text = json.dumps(golden_commands.plain(value), indent=1, ensure_ascii=False)
        text = golden_commands.normalised(f"{text}\n", tmp_path, root)
        parts.append(f"--- {title}\n{golden_commands.shortened(text)}")

    for name in ("my_results.parquet", "three.parquet", "prefix.parquet", "runs.parquet"):
        golden_inputs.INPUTS[name](tmp_path / name)
        submission = fb.Submission.read(name)
        report = fb.score(submission)
        valid = fb.validate(submission, fb.load_release())
        shown = [repr(submission), repr(report), str(report.signature), repr(valid.methods)]
        keep(name, shown)
        keep("groups", [(g.method, str(g.info), g.tasks, g.queries_per_task, g.bound, g.runs,
                         g.run_spread, int(g.counts.sum())) for g in valid.groups])  # fmt: skip
        keep("first score", report.scores[0])
        keep("first comparisons", list(report.comparisons)[:2])
        keep("verdicts", [str(c.verdict) for c in report.comparisons])
        keep("counts of verdicts", report.verdict_counts)
    release = fb.load_release()
    keep("release", [str(release), release.methods, release.datasets, release.backbones])
    keep("task set", release.task_set_info("cub", "published-5w5s5q"))
    keep("names", [sorted(fb.__all__), dir(fb)])
    planned = fb.plan(release=release, datasets="digits", queries=(3, 5))
    keep("plan", planned)
    digits, tasks = (
        fb.score(None, release, datasets="digits"),
        release.task_set("digits", "open-5w1s1q"),
    )
    parts_of = [release, release.manifest, tasks, tasks[3], planned, digits.signature]
    parts_of += [digits.sets[0], digits.scores, digits.scores[0], digits.scores[0].accuracy]
    parts_of += [digits.comparisons, digits.comparisons[0]]
    texts = [repr(part) for part in parts_of]
    assert max(text.count("\n") for text in texts) <= 2
    assert max(map(len, texts)) <= 300
    keep("what people meet", texts)
    with fb.connect(release, ["three.parquet"]) as connection:
        asked = "SELECT method, mean FROM accuracies WHERE dataset = 'digits' ORDER BY ALL LIMIT 5"
        keep("sql", connection.execute(asked).fetchall())
    golden_commands.check("python", "".join(parts))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("0.123456789012", "0.123456789013", True),
        ("0.5", "0.50000000001", True),
        ("1e-15", "-0.0", True),
        ("0.123456789012", "0.123457789012", False),
        ("1e-05", "1.00001e-05", False),
        ("0.25", "-0.25", False),
        ("7", "8", False),
        ("better", "worse", False),
    ],
)
def test_what_counts_as_the_same_text(old, new, same):
    lines = [f"a line: {0.1 + i / 7} and {1 / (i + 3)}\n" for i in range(400)]
    texts = ["".join([*lines[:333], f"a value: {one}\n", *lines[333:]]) for one in (old, new)]
    assert golden_commands.alike(old, new) == same
    assert golden_commands.alike(*map(golden_commands.shortened, texts)) == same
    added = golden_commands.keeping_alike(f"a\nx {old}\ny 7.5\n", f"a\nb\nx {new}\ny 8.5\n")
    assert added == f"a\nb\nx {old if same else new}\ny 8.5\n"
    swapped = golden_commands.shortened("".join([*lines[1:], lines[0]]))
    assert not golden_commands.alike(swapped, golden_commands.shortened("".join(lines)))
