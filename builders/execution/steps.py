"""Do long work in steps; a journal records finished ones, so that an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout
from msgspec import Struct, to_builtins

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import OutputError
from fslbench_data.files import (
    clear_temporary,
    is_kept,
    read_kept,
    sha256_of,
    temporary_of,
    write_whole,
)


class Made(Struct):
    """What a step has made: the SHA-256 of its files by path, and a result as JSON.

    The journal adds a digest of both and of the step's inputs.
    """

    files: dict[str, str]
    result: Any = None
    digest: str = ""


@dataclass(frozen=True)
class Step:
    """A step that is made once: its unique name, its inputs as JSON, and its function."""

    name: str
    made_of: Sequence[Any]
    make: Callable[[], Made] = field(repr=False)


class _Content(Struct):
    of: dict[str, Any]
    notes: dict[str, str]
    made: dict[str, Made]


class Journal:
    """The journal of work in a folder, new or continued; one process has it at a time.

    `file` and `lock` are names in the folder; `work` names the work in messages, such as ``build``.
    `made_of` has the inputs of unfinished work, None where there is none; `notes` are other texts
    to keep.
    """

    def __init__(self, folder: Path, file: str, lock: str, work: str) -> None:
        self.folder, self._path, self._work = folder, folder / file, work
        self.made_of: dict[str, Any] | None = None
        self.notes: dict[str, str] = {}
        self._made: dict[str, Made] = {}
        make_folder(folder)
        self._locked_by = folder / lock
        self._lock = lock_folder(folder, lock, work)
        if os.path.lexists(self._path):
            self._read()
        clear_temporary(folder, deep=True)

    def begin(
        self,
        made_of: Mapping[str, Any],
        *,
        anew: bool = False,
        other: str = "something else",
        expected: str = "",
    ) -> None:
        """Record the inputs of the work, as JSON; refuse unfinished work with other inputs.

        With `anew` no finished step is kept.
        """
        wanted: dict[str, Any] = json.loads(json.dumps(made_of))
        if anew or self.made_of is None:
            self.made_of, self._made = wanted, {}
        elif self.made_of != wanted:
            names = sorted(name for name, _, _ in differences(self.made_of, wanted))
            raise OutputError(
                f"{self.folder} holds an unfinished {self._work} of {other}: "
                f"they differ in {', '.join(names)}",
                where=str(self._path),
                expected=expected,
                fix="ask for the same, name another folder, or remove this one yourself",
            )
        self.save()

    def once(self, step: Step) -> Any:
        """Return the result of a step; makes it unless a previous run has done so."""
        made = self.kept(step)
        return self.make(step) if made is None else made.result

    def kept(self, step: Step) -> Made | None:
        """Return the result of a previous run of the step, if its files are whole."""
        made = self._made.get(step.name)
        if made is None or made.digest != digest_of([step.made_of, made.files, made.result]):
            return None
        paths = {self.folder / path: sha256 for path, sha256 in made.files.items()}
        whole = all(is_kept(path) and sha256_of(path) == sha for path, sha in paths.items())
        return made if whole else None

    def make(self, step: Step) -> Any:
        """Make a step and record it; returns its result."""
        made = self._made[step.name] = step.make()
        made.digest = digest_of([step.made_of, made.files, made.result])
        self.save()
        return made.result

    def save(self) -> None:
        """Write the journal."""
        content = to_builtins(_Content(self.made_of or {}, self.notes, self._made))
        write_whole(self._path, json.dumps(content, indent=1) + "\n", follow=False)

    def close(self) -> None:
        """Let others work in the folder."""
        self._lock.release()

    def remove(self) -> None:
        """Remove the journal, and let others work in the folder."""
        self._path.unlink(missing_ok=True)
        self._locked_by.unlink(missing_ok=True)
        self.close()

    def _read(self) -> None:
        try:
            content = parsed_json(read_kept(self._path), _Content)
        except (OSError, ValueError) as error:
            self.close()
            raise OutputError(
                f"the journal of the unfinished {self._work} in {self.folder} cannot be read: "
                f"{error}",
                where=str(self._path),
                fix="remove the folder and begin again",
            ) from None
        self.made_of, self.notes, self._made = content.of, content.notes, content.made


def digest_of(made_of: Sequence[Any]) -> str:
    """Return the SHA-256 (hex) of inputs, as JSON."""
    return hashlib.sha256(json.dumps(list(made_of), sort_keys=True).encode()).hexdigest()


def differences(old: Any, new: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the differing values of two JSON objects: name (``training.steps``), old and new."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from differences(old.get(key), new.get(key), f"{name}.{key}".strip("."))
    elif old != new:
        yield name, old, new


# ---- folders -------------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, if they do not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the folder {folder}: {error.strerror}",
            fix="name a folder that may be written",
        ) from None


def check_folder(folder: Path, begun: str, lock: str, expected: str) -> None:
    """Make a folder; refuse one with other content, unless it has the entry of `begun` work."""
    make_folder(folder)
    names = {path.name for path in folder.iterdir()}
    if begun not in names and any(n != lock and temporary_of(n) is None for n in names):
        raise OutputError(
            f"{folder} is not an empty folder",
            expected=f"a new or empty one, or {expected} is never edited in place",
            fix="name another folder, or remove this one yourself",
        )


def lock_folder(folder: Path, file: str, work: str) -> BaseFileLock:
    """Lock a folder by a file in it, until the lock is released or this process ends.

    A forked process does not hold the lock.
    """
    lock = FileLock(folder / file, mode=0o666, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise OutputError(
            f"another {work} is running in {folder}", fix="wait until it has ended"
        ) from None
    except OSError as error:  # also for a link
        raise OutputError(
            f"cannot lock {folder}: {error.strerror}",
            where=str(folder / file),
            expected="a regular file that may be written, or none",
            fix=f"remove {file}",
        ) from None
    return lock
