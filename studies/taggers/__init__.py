"""Attribute-biased tasks by taggers that err at known rates, and how they rank methods."""

from pathlib import Path

DATASET, PROTOCOL = "glyphs_sample", "3w5s15q"
RELEASE = Path(__file__).parent / "release"
ANSWERS = Path(__file__).parent / "answers.parquet"
