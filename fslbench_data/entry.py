"""The first lines of the commands: Ctrl-C ends them with 130, also while they load.

Nothing is imported here but what Python has loaded anyway.  An exception in the middle of an import
would come out as that import's own failure, so until the command takes over, Ctrl-C ends the
process at once; nothing has been done by then.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from importlib import import_module

STOPPED = 130
"""The exit code of what Ctrl-C stopped: 128 and the number of the signal."""


def run(module: str) -> None:
    """Import a module and call its `main`, which takes Ctrl-C over where it begins to work."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody ignores it
        signal.signal(signal.SIGINT, quit_at_once)
    import_module(module).main()


def quit_at_once(number: int, frame: object) -> None:
    """End the process, as a handler of SIGINT."""
    os._exit(STOPPED)


def fslbench() -> None:
    """Run the command ``fslbench``."""
    if sys.argv[1:2] != ["evaluate"]:  # which runs others' methods, as they like
        bound_threads()
        gc.set_threshold(500_000)  # of very many objects hardly any are in circles
        atexit.register(gc.freeze)  # and none has to be found when the process ends anyway
    if sys.argv[1:2] in (["score"], ["validate"], ["compare"], ["table"]):
        sys.meta_path.insert(0, WithoutPandas())
    run("fslbench_data.cli")


def bound_threads() -> None:
    """Set one thread for numpy's products, unless the environment sets how many.

    The products of counts are many and small.  Threads that wait for the next one by spinning took
    ten times the processor's time, and on a busy machine seven times as long.  It must be set
    before numpy is imported.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")


class WithoutPandas:
    """Hides pandas from pyarrow, as if it were not installed; see `sys.meta_path`.

    pyarrow imports it to check whether a list or number is a series: half a second, for commands
    that read files and hold no frame.
    """

    def find_spec(self, name: str, *_: object) -> None:
        """Find no module of that name."""
        if name == "pandas":
            raise ModuleNotFoundError("fslbench does without pandas", name=name)
