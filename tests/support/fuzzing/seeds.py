"""Inputs to begin with: what is right, in each form that a target takes, or nested too deep."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fslbench_data.submission.bindings import METADATA_KEY
from fslbench_data.submission.recorder import Recorder
from fuzzing import files, manifest_texts, tables
from fuzzing.choices import Choices

DEEP = b"[" * 8000


def seeds(target: str) -> list[bytes]:
    """Give inputs of a target that it accepts, and those whose JSON is nested too deep to parse."""
    if target == "manifests":
        return [b"\0" + manifest_texts.small().encode(), b"\0" + DEEP]
    return [bytes([files.MAKERS.index(maker)]) + data for maker, data in (*_files(), *_deep())]


def _deep() -> list[tuple[Callable[[Choices], files.File], bytes]]:
    heading = "method,dataset,task_set,task_id,n_correct,n_query,predictions"
    row = f'{heading}\nmine,digits,{tables.SET},0,4,25,"'.encode()
    return [
        (files.csv_bytes, row + DEEP + b'"\n'),
        (files.jsonl_bytes, DEEP),
        (files.metadata_alone, b"\0" + DEEP),
    ]


def _files() -> list[tuple[Callable[[Choices], files.File], bytes]]:
    columns = tables.good()
    plain = {k: v for k, v in columns.items() if k not in ("predictions", "class_correct", "run")}
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([json.dumps(cell) if isinstance(cell, list) else cell for cell in row])
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    recorder = Recorder("mine", description="d", link="l")
    recorder.add_counts(tables.release().task_set("digits", tables.SET), [20] * 10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        recorder.submission().write(path)
        recorded = path.read_bytes()
    about = pq.read_schema(pa.BufferReader(recorded)).metadata[METADATA_KEY]
    return [
        (files.parquet_bytes, _parquet(pa.table(plain), compression="none")),
        (files.parquet_bytes, recorded),
        (files.csv_bytes, text.getvalue().encode()),
        (files.jsonl_bytes, "\n".join(map(json.dumps, rows)).encode()),
        (files.metadata_alone, b"\0" + about),
    ]


def _parquet(table: pa.Table, **options: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()
