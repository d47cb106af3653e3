"""A submission of one method on one task set."""

from __future__ import annotations

from typing import Any

import fslbench_data as fb


def recorded(tasks: Any, counts: Any, name: str = "mine", **about: Any) -> fb.Submission:
    recorder = fb.Recorder(name, **about)
    recorder.add_counts(tasks, counts)
    return recorder.submission()
