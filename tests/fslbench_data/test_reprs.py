"""What people meet in Python shows itself shortly; tests/golden/commands/python.txt has more."""

from types import SimpleNamespace
from typing import Any

import fslbench_data as fb


def test_a_comparison_prints_a_sentence(example: fb.Submission) -> None:
    compared = fb.score(example, datasets="digits", task_sets="closed-5w10s7q").comparisons
    text = next(str(c) for c in compared if c.versus == "pixels/LR")
    assert text.startswith(
        "pixels/Ridge against pixels/LR on digits/closed-5w10s7q: +0.98 points, "
        "± 0.51 for new images (better), ± "
    )


def test_no_file_is_read_for_a_repr() -> None:
    no_files: Any = SimpleNamespace(where="nowhere", hub="")
    release = fb.Release(fb.load_release().manifest, no_files)
    assert repr(release).endswith("22 reference methods\n in nowhere>")
