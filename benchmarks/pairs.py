"""All pairs of methods, from Parquet to every pair's interval: ``python benchmarks/pairs.py``.

Two sizes, in one run, through the same reading, validation and comparison as ``fslbench score``,
including the check of every rule.  The release has 27 made-up task sets of 2000 tasks.

A loop of ``scipy.stats.ttest_rel`` over the pairs is the first peer.  It is given the counts as
arrays in memory, so it is set against our step from validated counts to intervals (`compare`), and,
less favourably, against the whole from Parquet.  It is timed on a sample of pairs and scaled up,
since 13.5 million tests take most of an hour.  pandas (read_parquet, pivot, cov, half-widths) is
run in full, without any validation, against the whole.

Everything runs in processes of its own; peak memory is the process's.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TASKS = 2000
SETS = [(f"data{i}", s) for i in range(9) for s in ("open-5w1s1q", "open-5w5s5q", "open-5w10s7q")]
SAMPLE = 2000


def make(path: Path, methods: int) -> None:
    """Write a submission of random counts in long form, methods in row groups of at most 20."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            *((name, names) for name in ("method", "dataset", "task_set")),
            ("task_id", pa.int32()),
            ("n_correct", pa.int16()),
            ("n_query", pa.int16()),
        ]
    )
    datasets = sorted({d for d, _ in SETS})
    task_sets = ["open-5w1s1q", "open-5w5s5q", "open-5w10s7q"]
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, methods, 20):
            some = np.arange(start, min(start + 20, methods))
            rows = len(SETS) * TASKS
            cell = np.tile(np.repeat(np.arange(len(SETS)), TASKS), some.size)
            n_query = np.array([5, 25, 35])[cell % 3]
            columns = [
                _coded(np.repeat(some, rows), [f"method{i:04d}" for i in range(methods)]),
                _coded(cell // 3, datasets),
                _coded(cell % 3, task_sets),
                pa.array(np.tile(np.arange(TASKS), len(SETS) * some.size).astype(np.int32)),
                pa.array(rng.binomial(n_query, 0.7).astype(np.int16)),
                pa.array(n_query.astype(np.int16)),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _coded(codes: object, names: list[str]) -> object:
    import numpy as np
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(np.asarray(codes, np.int32), names)


def made_up_release() -> Any:
    """Return what scoring reads of a release, with 5 of 40 classes in each task."""
    from types import SimpleNamespace

    import numpy as np

    from benchmark_spec.protocol import TaskSetName
    from fslbench_data.tasks import TaskSetInfo

    class MadeUp(SimpleNamespace):  # known by itself, as a release is
        __hash__, __eq__ = object.__hash__, object.__eq__  # type: ignore[assignment]

    infos = tuple(TaskSetInfo(d, TaskSetName.parse(s), TASKS, "0" * 64) for d, s in SETS)
    classes = np.random.default_rng(2).permuted(np.tile(np.arange(40), (TASKS, 1)), axis=1)[:, :5]
    return MadeUp(
        task_sets=infos,
        class_ids=lambda info: classes,
        superclasses=lambda dataset: None,
        methods=(),
        references=lambda **_: (),
        datasets=tuple(dict.fromkeys(d for d, _ in SETS)),
        manifest=SimpleNamespace(digest="0" * 64),
        drawn_from="",
        hub="",
    )


def ours(path: Path) -> dict[str, float]:
    """Read, validate, and compute every pair's interval and verdicts."""
    start = time.perf_counter()
    from fslbench_data.entry import bound_threads

    bound_threads()  # as the command does, before numpy is imported
    from fslbench_data.scoring.score import score

    release = made_up_release()
    imported = time.perf_counter()
    report = score(path, release, allow_unbound=True, references=False)
    validated = time.perf_counter()
    pairs = 0
    for each in report.sets:
        pairs += int(each.requested.sum())
        assert each.pairs.halfwidth.shape == each.requested.shape
    end = time.perf_counter()
    return {
        "import": imported - start,
        "validate": validated - imported,
        "compare": end - validated,
        "seconds": end - start,
        "pairs": pairs,
        "gigabytes": _peak(),
    }


def loop(path: Path) -> dict[str, float]:
    """Run scipy.stats.ttest_rel and its confidence interval, pair by pair, on a sample."""
    import numpy as np
    from scipy import stats

    from fslbench_data.submission.model import Submission

    table = Submission.read(path).table
    methods = table.num_rows // (len(SETS) * TASKS)
    x = table.column("n_correct").to_numpy().reshape(methods, len(SETS), TASKS)
    rng = np.random.default_rng(1)
    total = methods * (methods - 1) // 2 * len(SETS)
    sample = min(SAMPLE, total)
    chosen = [(*rng.choice(methods, 2, replace=False), k % len(SETS)) for k in range(sample)]
    start = time.perf_counter()
    for a, b, k in chosen:
        stats.ttest_rel(x[a, k], x[b, k]).confidence_interval(0.95)
    each = (time.perf_counter() - start) / sample
    return {"seconds": each * total, "each": each, "sample": sample, "pairs": total}


def pandas(path: Path) -> dict[str, float]:
    """Run read_parquet, pivot and cov, task set by task set, and the half-widths of all pairs."""
    start = time.perf_counter()
    import numpy as np
    import pandas as pd
    from scipy.special import stdtrit

    frame = pd.read_parquet(path)
    for _, part in frame.groupby(["dataset", "task_set"], observed=True):
        wide = part.pivot(index="task_id", columns="method", values="n_correct")
        covariance = wide.cov().to_numpy()
        variance = np.diag(covariance)
        scatter = variance[:, None] + variance[None, :] - 2 * covariance
        width = stdtrit(TASKS - 1, 0.975) * np.sqrt(np.maximum(scatter, 0) / TASKS)
        assert width.shape == covariance.shape
    return {"seconds": time.perf_counter() - start, "gigabytes": _peak()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _in_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--run", what, "--file", str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(out.stdout)
    return found


def main() -> int:
    """Print the tables; exit 1 if a limit of them is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", choices=["ours", "loop", "pandas"])
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    if options.run:
        print(json.dumps({"ours": ours, "loop": loop, "pandas": pandas}[options.run](options.file)))
        return 0
    missed = 0
    print("| methods | pairs | what | seconds | peak GB | times ours | limit |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for methods, at_least in ((12, 100), (1000, 1000)):
            path = Path(folder) / f"{methods}.parquet"
            make(path, methods)
            runs = [_in_process("ours", path) for _ in range(3)]
            best = sorted(runs, key=lambda r: r["seconds"])[1]
            peer = _in_process("loop", path)
            ratio = peer["seconds"] / best["compare"]
            whole = peer["seconds"] / best["seconds"]
            head = f"| {methods} | {best['pairs']:,} |"
            limit = "6 s, 1.2 GB" if methods == 1000 else ""
            print(
                f"{head} fslbench, whole: imports {best['import']:.2f}, "
                f"read and validate {best['validate']:.2f}, "
                f"compare {best['compare']:.4f} (median of 3) "
                f"| {best['seconds']:.2f} | {best['gigabytes']:.2f} | 1 | {limit} |"
            )
            print(
                f"{head} ttest_rel loop, {1e6 * peer['each']:.0f} µs a pair on "
                f"{peer['sample']:.0f} pairs | {peer['seconds']:,.1f} | | {ratio:,.0f} times "
                f"compare, {whole:,.1f} times the whole | at least {at_least} times compare |"
            )
            missed += ratio < at_least
            if methods == 1000:
                other = _in_process("pandas", path)
                ratio = other["seconds"] / best["seconds"]
                print(
                    f"{head} pandas pivot and cov | {other['seconds']:.1f} "
                    f"| {other['gigabytes']:.2f} | {ratio:.1f} | at least 2 |"
                )
                missed += ratio < 2 or best["seconds"] > 6 or best["gigabytes"] > 1.2
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
