"""Fuzz a reader with atheris: ``python tests/fuzz/run.py submissions --runs 200000``; README.md."""

from __future__ import annotations

import argparse
import hashlib
import resource
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ("benchmark_spec", "fslbench_data.submission", "fslbench_data.leaderboard")
MEMORY = 4 << 30
"""Bytes of address space: what a file makes the reader ask for must not take the machine down."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=["submissions", "manifests"])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder to keep all inputs that found new paths")
    options = parser.parse_args()

    sys.path.insert(0, str(HERE.parent / "support"))
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES)):
        import fuzzing.targets
    from fuzzing.seeds import seeds

    work = options.work or Path(tempfile.mkdtemp(prefix="fuzz-"))
    work.mkdir(parents=True, exist_ok=True)
    for seed in seeds(options.target):
        (work / hashlib.sha1(seed).hexdigest()).write_bytes(seed)  # as libFuzzer names inputs
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    arguments = [
        sys.argv[0],
        f"-runs={options.runs}",
        f"-seed={options.seed}",
        "-max_len=16384",
        "-len_control=0",
        "-timeout=60",
        "-rss_limit_mb=0",  # libFuzzer counts what the process had that started this one
        "-malloc_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={work}/",
        str(work),
        str(HERE / "corpus" / options.target),
    ]
    atheris.Setup(arguments, fuzzing.targets.TARGETS[options.target])
    if options.work is None:
        import atexit

        atexit.register(shutil.rmtree, work, ignore_errors=True)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
