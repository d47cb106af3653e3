"""Where a sweep's results come from besides a release: a folder of features, or predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis_sql.planning.query_size import MIN_TASKS, pool
from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SchemaError, SourceError, SubmissionError
from builders.baselines.heads import head_of
from builders.features.precomputed import read_precomputed
from builders.query_size.draws import Draws
from builders.query_size.sweep import Counts, QuerySweep, conclude
from builders.query_size.task_sets import QuerySets
from builders.sampling import groups_of
from fslbench_data.release.release import Release
from fslbench_data.scoring.pilot import Results
from fslbench_data.submission.model import Submission
from fslbench_data.validation.per_class import class_counts, rows_of


def of_folder(
    images: Path, folder: Path, head: str, *, way: int, shot: int, suite: str, dataset: str = ""
) -> QuerySets:
    """Take an images table and a folder of its features.

    Parameters
    ----------
    images
        Parquet, as ``fslbench-build source -o`` writes it.
    folder
        As ``fslbench-build features`` writes it.
    dataset
        One of the folder's; its first unless given.

    Raises
    ------
    SourceError
        If the table cannot be read, or the features are of other images.
    SchemaError
        If it is no images table in class order.
    ReleaseError, UnknownNameError
        If the folder holds no features, or none of the data set.
    """
    head_of(head)
    table, extracted = read_images(images), read_precomputed(folder)
    dataset = dataset or extracted.datasets[0]
    features, made = extracted.features(dataset), extracted.provenance(dataset)
    of_others = made.get("images", content_digest(table)) != content_digest(table)
    if of_others or len(features) != len(table):
        raise SourceError(
            f"the features of {dataset} are of other images than {images}",
            where=str(folder),
            fix="extract features of these images, or give the table they were extracted of",
        )
    sizes = np.bincount(table.column("class_id").to_numpy())
    groups = groups_of(table) if suite == "grouped" else None
    draws = Draws(dataset, suite, way, shot, tuple(sizes.tolist()), groups)
    method = f"{extracted.backbone}/{head}"
    return QuerySets(draws, head, features, method, f"{images.name} and {folder.name}")


def read_images(path: Path) -> pa.Table:
    """Read an images table in class order; a SourceError or SchemaError if it is none."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(
            f"{path} cannot be read as an images table: {error}",
            expected="Parquet, such as `fslbench-build source NAME RAW -o images.parquet` writes",
        ) from None
    schemas.check(table, schemas.IMAGES, str(path))
    ids, classes = table.column("image_id").to_numpy(), table.column("class_id").to_numpy()
    if not len(table) or (ids != np.arange(len(table))).any() or (np.diff(classes) < 0).any():
        raise SchemaError(
            f"{path} does not list images in the order of their ids and classes",
            expected="image_id 0, 1, ... and class_id ascending from 0",
        )
    return table


def of_predictions(
    submission: Submission,
    release: Release,
    dataset: str,
    *,
    method: str = "",
    way: int,
    shot: int,
    suite: str = "open",
    seeds: int = 20,
    level: float = 0.95,
) -> QuerySweep:
    """Choose Q from the predictions of a submission on task sets of a release.

    All its task sets of the data set, the ways and the shots count whose images do not recur, that
    have at least 2 queries and 3 tasks.

    Parameters
    ----------
    method
        Of the submission; its only one unless given.
    suite
        Whose numbers of tasks are compared.

    Raises
    ------
    SubmissionError
        If there is no such task set, or the results do not say which queries were answered rightly.
    """
    results = Results.of(submission, release, only=())
    method = results.check_method(method) if method else results.only_method()
    pilots = [
        results.pilot(info, method)
        for info in results.pilot_sets([method], way, shot)
        if info.dataset == dataset and info.n_tasks >= MIN_TASKS
    ]
    if not pilots:
        raise SubmissionError(
            f"{method} has no results on {dataset} that a number of queries can be chosen from",
            where=submission.source,
            expected=f"an open task set of {way} ways and {shot} shots with at least 2 queries and "
            f"{MIN_TASKS} tasks",
        )
    if several := [pilot for pilot in pilots if pilot.runs.runs[0] > 1]:
        raise SubmissionError(
            f"{method} has {several[0].runs.runs[0]} runs on {several[0].info}",
            where=submission.source,
            expected="one run: several answer the same queries, which are then no new ones",
            fix="give a file with one of the runs",
        )
    sizes = tuple(release.classes(dataset).column("n_images").to_pylist())
    groups = groups_of(release.images(dataset)) if suite == "grouped" else None
    counts: Counts = {}
    for pilot in pilots:
        rows = rows_of(submission, method, pilot.info)
        of_set = class_counts(rows, release.task_set(dataset, str(pilot.info.name)))
        assert of_set is not None  # noqa: S101  (the pilot has them)
        counts.setdefault(pilot.info.protocol.query, []).append(of_set)
    estimate = pool([[pilot.estimate for pilot in pilots]], shot)
    draws = Draws(dataset, suite, way, shot, sizes, groups)
    return conclude(draws, counts, estimate, method, submission.source, seeds, level)
