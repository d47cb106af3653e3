"""How torch computes where the same bits must come out again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmark_spec.extras import require


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """Let torch compute with that many threads, without what gives other bits from run to run."""
    torch = require("torch")
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = torch.get_num_threads(), matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic
    benchmark, cudnn.benchmark = cudnn.benchmark, False
    torch.set_num_threads(threads)
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    cudnn.deterministic = True
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        _, matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic = before
        cudnn.benchmark = benchmark
