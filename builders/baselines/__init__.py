"""The reference methods of releases: heads on frozen features, and fine-tuning."""

from builders.baselines.heads import HEADS, Predictor
from builders.baselines.running import run_ft, run_head

__all__ = ["HEADS", "Predictor", "run_ft", "run_head"]
