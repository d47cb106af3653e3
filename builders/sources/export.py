"""Write the images of a source as picture files."""

from __future__ import annotations

from pathlib import Path

from benchmark_spec.errors import OutputError, SourceError, listing
from builders.sources.image_set import ImageSet, Progress, in_threads, silent
from fslbench_data.files import clear_temporary, whole_file, write_whole
from fslbench_data.release.pictures import MARK, has_other_mark, is_numbered, mark_of, picture_name


def check_folder(folder: Path, raw: Path | None) -> None:
    """Refuse a folder that is in the raw folder, or neither new, empty nor one of pictures."""
    if raw is not None:
        check_outside(folder, raw)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is no folder", fix="name a new or an empty folder")
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if names and not is_numbered(folder):
        raise OutputError(
            f"{folder} holds other files: {listing(names, 4)}",
            expected="a new or empty folder, or one that this command has begun to fill",
            fix="name another folder",
        )


def check_outside(folder: Path, raw: Path) -> None:
    """Refuse to write into a raw folder, where written files would be taken for images."""
    if raw.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise OutputError(
            f"{folder} is in the raw folder, where what it holds would be taken for images",
            where=str(raw),
            fix="name a folder elsewhere",
        )


def write_pictures(images: ImageSet, folder: Path, progress: Progress = silent) -> int:
    """Write every image as ``<image_id>.png`` (8 digits, RGB, its own size); returns how many.

    Pictures that the folder has are kept, so that an interrupted export continues.  If the raw
    folder changes meanwhile, the pictures of this run are removed.
    """
    if (folder / picture_name(0)).exists() and not (folder / MARK).exists():
        raise OutputError(
            f"{folder} holds numbered pictures, but does not say of which images",
            expected=f"the file {MARK}, which this command writes first",
            fix="name another folder",
        )
    if has_other_mark(folder, images.images):
        raise OutputError(
            f"{folder} holds pictures of other images than those of {images.name}",
            where=str(folder / MARK),
            fix="name another folder, or remove this one",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make {folder}: {error.strerror}") from None
    clear_temporary(folder)
    write_whole(folder / MARK, mark_of(images.images))
    wanted = [i for i in range(len(images.images)) if not (folder / picture_name(i)).exists()]

    def write(image_id: int) -> None:
        picture = images.open(image_id)
        with whole_file(folder / picture_name(image_id), clear=False) as temporary:
            picture.save(temporary, format="PNG")

    list(in_threads(write, wanted, progress, f"{{}} of {len(wanted)} pictures written"))
    try:
        images.check_unchanged()
    except SourceError:
        for image_id in wanted:
            (folder / picture_name(image_id)).unlink()
        raise
    return len(wanted)
