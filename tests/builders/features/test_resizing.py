"""Triton's kernels, run by its interpreter on the CPU, against torch's products and Pillow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np, torch
from PIL import Image
from builders.features.backbone import Preprocessing
from builders.features.resizing import resize
chance = np.random.default_rng(0)
sizes = [(21, 30), (9, 40), (7, 9), (20, 24), (33, 21)]
arrays = [chance.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes]
pictures = [torch.from_numpy(array).permute(2, 0, 1) for array in arrays]
for kind in ("nearest", "bilinear", "bicubic"):
    for shape, crop, side in (((12, 12), (10, 9), "short"), ((12, 14), (13, 15), "long")):
        how = Preprocessing(shape, crop, kind, (0, 0, 0), (1, 1, 1), side, 255, (9, 8, 7))
        shown = list(zip(arrays, pictures))
        if kind == "nearest":  # only ever of pictures of the right size, which it leaves alone
            shown = shown[3:4]
            how = Preprocessing((20, 24), crop, kind, (0, 0, 0), (1, 1, 1), "both", 255, (9, 8, 7))
        shown_arrays, tensors = zip(*shown)
        resized = [how.resized(*picture.shape[1:]) for picture in tensors]
        corners = [how._corner(*size) for size in resized]
        found = resize(tensors, resized, corners, how.crop, kind, how.fill)
        torch.testing.assert_close(found, how.batch(tensors), rtol=0, atol=1)
        pillow = np.stack([how.reference(Image.fromarray(array)) for array in shown_arrays])
        off = np.abs(found.numpy() - pillow)
        print(kind, side, off.max(), (off > 0).mean())
"""


@pytest.mark.slow
def test_the_kernels_of_a_gpu_resize_as_torch_and_pillow_do() -> None:
    pytest.importorskip("triton", reason="needs Triton, which comes with PyTorch for GPUs")
    pytest.importorskip("PIL.Image")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}  # which is read where Triton is imported
    run = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        kind, _, most, share = line.split()
        assert float(most) <= (0 if kind == "nearest" else 1), line
        assert float(share) < 0.03, line
    assert len(run.stdout.splitlines()) == 6
