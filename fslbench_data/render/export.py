"""Export a release to a folder in which every table is a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from benchmark_spec.errors import OutputError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Manifest, Table
from fslbench_data.files import scratch_folder, sha256_of, write_whole
from fslbench_data.release.folder import ReleaseFiles, check_file
from fslbench_data.release.release import Release
from fslbench_data.release.tables import write_table
from fslbench_data.render.card import NOWHERE, dataset_card

Progress = Callable[[str], None]


def write_drawn(release: Release, folder: Path, progress: Progress) -> Manifest:
    """Write the drawn tables of a release, which have no file, to their paths in a folder.

    Returns the manifest in which they are stored; its digest is the same, as are the contents.
    """

    def stored(entry: Table) -> Table:
        if not entry.drawn:
            return entry
        progress(f"drawing {entry.path}")
        path = folder / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(release.task_table(release.task_set_info(entry.dataset, entry.name)), path)
        size, sha256 = path.stat().st_size, sha256_of(path)
        return replace(entry, drawn=False, bytes=size, sha256=sha256)

    return replace(release.manifest, tables=tuple(map(stored, release.manifest.tables)))


def export(release: Release, folder: str | Path, progress: Progress = lambda _: None) -> Manifest:
    """Write a release into a new or empty folder, every table as a file; return its manifest.

    The folder appears whole or not at all.  Its digest and fingerprints are those of the release.
    Raises an OutputError if the folder is not empty or cannot be written, and a CorruptReleaseError
    if a table is not the one that was released.
    """
    target = Path(folder).absolute()
    try:
        if target.is_symlink() or (
            target.exists() and (not target.is_dir() or any(target.iterdir()))
        ):
            raise OutputError(
                f"{folder} is there and not empty",
                expected="a new or empty folder: nothing is written over",
                fix="name another folder, or remove what is there",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder("export", target.parent) as scratch:
            whole = scratch / "release"
            whole.mkdir()
            manifest = write_drawn(release, whole, progress)
            for entry in release.manifest.tables:
                if not entry.drawn:
                    progress(f"copying {entry.path}")
                    (whole / entry.path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(release.files.path(entry), whole / entry.path)
                    check_file(whole, entry)
            progress(CARD_FILE)
            repository = release.hub.partition("@")[0] or NOWHERE
            written = Release(manifest, ReleaseFiles(str(whole.resolve())))
            write_whole(whole / CARD_FILE, dataset_card(manifest, written, repository))
            write_whole(whole / MANIFEST_FILE, manifest.to_json())
            if target.is_dir():
                target.rmdir()
            whole.rename(target)
    except OSError as error:
        raise OutputError(
            f"cannot write {folder}: {error.strerror or error}",
            fix="name a folder that may be written, with room for the release",
        ) from error
    return manifest
