"""What of a release is published: which files, if their licences let them be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmark_spec.catalogue import catalogue
from benchmark_spec.errors import LicenceError, OutputError, ReleaseError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Manifest
from benchmark_spec.naming import benchmark_task_id
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import (
    Dataset,
    Kind,
    Redistribution,
    Table,
    config_and_split,
    without_shard,
)
from builders.hub.repository import ReleaseFile, small_file
from fslbench_data.files import temporary_of

BENCHMARK_FILE = "eval.yaml"
"""What registers a release as a benchmark of the Hub: its tasks are what the files
``.eval_results/*.yaml`` of model repositories refer to."""

FRAMEWORK = "fslbench"


def release_files(folder: Path, manifest: Manifest, card: str) -> dict[str, ReleaseFile]:
    """List the files of a release by path, its manifest last, which must be `manifest` still.

    `card` takes the place of the folder's own, which does not know where it is published.
    """
    files = {
        t.path: ReleaseFile(folder / t.path, t.bytes, t.sha256, t.digest)
        for t in manifest.tables
        if not t.drawn
    }
    files[CARD_FILE] = small_file(card.encode())
    files[MANIFEST_FILE] = small_file((folder / MANIFEST_FILE).read_bytes())
    text = files[MANIFEST_FILE].content
    if not isinstance(text, bytes) or Manifest.from_json(text, MANIFEST_FILE) != manifest:
        raise changed_meanwhile(folder)
    return files


def changed_meanwhile(folder: Path) -> OutputError:
    """Make the error of a release whose files change while it is published."""
    return OutputError(
        f"{folder} changed while it was verified", fix="let nothing write to it meanwhile"
    )


def left_out(folder: Path, files: Mapping[str, ReleaseFile]) -> tuple[str, ...]:
    """List what else lies in a release's folder, such as images: it is not published."""
    paths = (
        p.relative_to(folder).as_posix()
        for p in folder.rglob("*")
        if not p.is_dir() and temporary_of(p.name) is None
    )
    return tuple(sorted(path for path in paths if path not in files))


def benchmark_file(manifest: Manifest) -> str:
    """Write the text of eval.yaml: one task for each task set that has a headline metric.

    These are the sets whose tasks share no image, but for those made with attributes of images.
    """
    import yaml

    tasks = []
    for table in manifest.tables:
        name = TaskSetName.parse(table.name) if table.kind == "tasks" else None
        if name and name.interval == "open" and not name.attributes:
            config, split = config_and_split(table)
            identifier = benchmark_task_id(table.dataset, table.name)
            tasks.append({"id": identifier, "config": config, "split": split})
    if not tasks:
        raise ReleaseError(
            f"{manifest.name} has no task set that a benchmark of the Hub could rank by",
            expected="a task set whose tasks share no image, such as of the suite `open`",
            fix="publish it without --register-benchmark, in a repository that has no eval.yaml",
        )
    content = {
        "name": manifest.name,
        "description": manifest.description,
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


FROM_IMAGES: tuple[Kind, ...] = ("features", "attributes")
"""Tables computed from what the images show: numbers of a backbone, words of a tagger.

A data set of ``tables`` has none of them published, and pictures only one of ``images``.  Results
are no such tables: they say which queries a method answered rightly.
"""


def check_licences(manifest: Manifest) -> None:
    """Refuse a release with pictures, or tables computed from them, that may not be passed on."""
    terms = {d.name: redistribution_of(d) for d in manifest.datasets}
    for table in manifest.tables:
        if table.kind == "pictures" and terms[table.dataset] != "images":
            raise LicenceError(
                f"the pictures of {table.dataset} may not be published: the licence of its images "
                f'says redistribution = "{terms[table.dataset]}"',
                where=table.path,
                expected="no pictures of such data sets",
                fix="take `pictures` of it out of the specification and build the release again",
            )
    kept = {d.name: d for d in manifest.datasets if redistribution_of(d) == "tables"}
    tables = [t for t in manifest.tables if t.kind in FROM_IMAGES and t.dataset in kept]
    if not tables:
        return
    names = list(dict.fromkeys(t.dataset for t in tables))
    one = len(tables) == 1
    raise LicenceError(
        f"{len(tables)} table{'' if one else 's'} may not be published: "
        f"{'it is' if one else 'they are'} computed from images, and the licence of these does "
        "not let that be passed on",
        where="; ".join(_named(tables, kept)),
        expected=f"of {', '.join(names)} no {' or '.join(FROM_IMAGES)}: only classes, the list of "
        "images, task sets and results",
        fix=f"take {' and '.join(dict.fromkeys(t.kind for t in tables))} of {', '.join(names)} out "
        "of the specification and build the release again. A private repository changes nothing: "
        "it is a copy for others, too. If the licence of images of your own does allow it, say "
        'redistribution = "features" in the options of that data set',
    )


def _named(tables: Sequence[Table], datasets: Mapping[str, Dataset]) -> Iterator[str]:
    """Name each table with its licence; of a feature set's shards the first."""
    counts = Counter(without_shard(table.path) for table in tables)
    for table in tables:
        others = counts.pop(without_shard(table.path), 0) - 1
        if others >= 0:
            more = f" and {others} shard{'s' if others > 1 else ''} more" if others else ""
            yield f"{table.path}{more} ({table.dataset}: {datasets[table.dataset].licence})"


def redistribution_of(dataset: Dataset) -> Redistribution:
    """Say what may be redistributed of a data set: no more than the catalogue says, if anything."""
    entry = catalogue().get(dataset.name)
    return "tables" if entry and entry.redistribution == "tables" else dataset.redistribution
