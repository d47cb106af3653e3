"""docs/training.md: from a folder of colour pictures to scores and bias, by the page's commands."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pages import blocks
from PIL import Image, ImageColor

import fslbench_data as fb
from builders.cli import main as build
from fslbench_data.cli import main as score

pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")

PAGE = Path(__file__).parents[3] / "docs/training.md"
COLOURS = ("red", "green", "blue", "yellow")
PARTS = {"train": 5, "val": 3, "test": 4}


def _picture(rng, number, colour, ground):
    """Stripes of the class's direction and width, in the picture's colours."""
    y, x = np.mgrid[:42, :48] + rng.integers(0, 20)
    striped = (x, y, x + y)[number % 3] // (3 + number // 3 * 2) % 2 == 0
    levels = np.where(striped[..., None], ImageColor.getrgb(colour), ImageColor.getrgb(ground))
    noisy = levels + rng.normal(0, 12, levels.shape)
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def _draw(folder):
    rng, number = np.random.default_rng(0), 0
    for part, classes in PARTS.items():
        texts = ["path,text"]
        for _ in range(classes):
            name = f"shape{number:02}"
            (folder / part / name).mkdir(parents=True)
            for image in range(24):
                colour, ground = map(str, rng.choice(COLOURS, 2, replace=False))
                path = f"{name}/{image:02}.png"
                _picture(rng, number, colour, ground).save(folder / part / path)
                texts.append(f"{path},a {colour} thing on {ground} ground")
            number += 1
        (folder / part / "texts.csv").write_text("\n".join(texts) + "\n")


@pytest.mark.slow
def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _draw(tmp_path / "RAW/shapes")
    page = blocks(PAGE)
    for block in page:
        if block.above.startswith("file: "):
            Path(block.above.removeprefix("file: ")).write_text(block.content)
    (commands,) = (block.content.splitlines() for block in page if block.above == "run")
    assert len(commands) == 5
    printed = []
    for command in commands:
        program, *words = shlex.split(command)
        result = CliRunner().invoke(build if program == "fslbench-build" else score, words)
        assert result.exit_code == 0, result.output
        printed.append(result.stdout)
    about = json.loads(Path("trained/protonet-0/trained.json").read_text())
    assert about["settings"]["data"]["channels"] == 3
    report = fb.score("protonet.parquet", fb.load_release("tasks"), references=False)
    accuracy = {row.task_set: row.accuracy.mean for row in report.scores}
    assert accuracy["closed-3w5s5q"] > 60, Path("trained/protonet-0/curve.csv").read_text()
    assert "wAcc" in printed[-1]
