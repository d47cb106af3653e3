"""Start the commands, which Ctrl-C ends with 130, also while they load.

Only modules that Python has loaded anyway are imported here.  An exception during an import may
surface as an error of that import, so until the command takes over, Ctrl-C ends the process at
once; nothing has been done by then.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from importlib import import_module

STOPPED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal."""


def run(module: str) -> None:
    """Import a module and call its `main`, which handles Ctrl-C from then on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        signal.signal(signal.SIGINT, quit_at_once)
    import_module(module).main()


def quit_at_once(number: int, frame: object) -> None:
    """End the process, as a handler of SIGINT."""
    os._exit(STOPPED)


def fslbench() -> None:
    """Run the command ``fslbench``."""
    if sys.argv[1:2] != ["evaluate"]:  # users' methods choose their own settings
        bound_threads()
        gc.set_threshold(500_000)  # hardly any of the many objects are in reference cycles
        atexit.register(gc.freeze)  # no collection when the process ends
    if sys.argv[1:2] in (["score"], ["validate"], ["compare"], ["table"]):
        sys.meta_path.insert(0, WithoutPandas())
    run("fslbench_data.cli")


def bound_threads() -> None:
    """Use one thread for numpy's matrix products, unless the environment says otherwise.

    The products of counts are many and small.  Threads that spin between them took ten times the
    processor's time, and on a busy machine seven times as long.  It must be set before numpy is
    imported.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")


class WithoutPandas:
    """Hides pandas from pyarrow, as if it were not installed; see `sys.meta_path`.

    pyarrow imports pandas, which takes half a second, to check whether a list or number is a
    series.  Commands that read files have no frames.
    """

    def find_spec(self, name: str, *_: object) -> None:
        """Find no module of that name."""
        if name == "pandas":
            raise ModuleNotFoundError("fslbench does without pandas", name=name)
