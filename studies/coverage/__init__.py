"""How often confidence intervals hold the truth: ``python -m studies.coverage --help``.

Each part prints a Markdown table, with its limits, and the command that makes it; README.md keeps
them.  Everything follows from ``--seed``.
"""

import os

# one thread a process: the parts run several processes, which would fight over the processors
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
