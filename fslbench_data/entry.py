"""The first lines of the commands: Ctrl-C ends them with 130, also while they load.

Nothing is imported here but what Python has loaded anyway.  An exception in the middle of an import
would come out as that import's own failure, so until the command takes over, Ctrl-C ends the
process at once; nothing has been done by then.
"""

from __future__ import annotations

import os
import signal
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
    run("fslbench_data.cli")
