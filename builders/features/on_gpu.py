"""What a GPU does with batches before the network sees them: decoding JPEG files, and resizing.

A thread keeps a few batches ahead of the network, on a CUDA stream of its own, so that the network
does not wait for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np

from benchmark_spec.extras import require
from builders.features.backbone import Preprocessing
from builders.features.decoding import Batch
from fslbench_data.files.pictures import decode

T = TypeVar("T")
AHEAD = 2
"""Batches that are ready for the network."""


def inputs(batches: Iterable[Batch], preprocessing: Preprocessing) -> Iterator[tuple[Batch, Any]]:
    """Return each batch with the network's input, float32 (B, 3, H, W) on the GPU."""
    torch = require("torch")
    stream = torch.cuda.Stream(priority=-1)  # its many small kernels go before the network's

    def prepared() -> Iterator[tuple[Batch, Any, Any]]:
        for batch in batches:
            with torch.cuda.stream(stream), torch.no_grad():
                pixels = preprocessing.batch(grey_levels(batch, "cuda"))
                yield batch, pixels, stream.record_event()

    for batch, pixels, done in ahead(prepared(), AHEAD):
        network = torch.cuda.current_stream()
        network.wait_event(done)
        pixels.record_stream(network)
        yield batch, pixels


def grey_levels(batch: Batch, device: str) -> list[Any]:
    """Return the pictures of a batch on a device, uint8 (3, h, w)."""
    parts = batch.parts()
    coded = [i for i, part in enumerate(parts) if part.ndim == 1]
    pictures = [None if part.ndim == 1 else part for part in parts]
    if len(coded) < len(parts):  # one copy for all
        data = batch.data.to(device, non_blocking=True)
        there = Batch(batch.ids, data, batch.shapes).parts()
        pictures = [p if p is None else there[i] for i, p in enumerate(pictures)]
    if coded:
        for i, picture in zip(coded, _decoded([parts[i] for i in coded], device), strict=True):
            pictures[i] = picture
    return pictures


def _decoded(files: list[Any], device: str) -> list[Any]:
    """Decode JPEG files, uint8 (n,) each, there by nvJPEG; what it refuses, by Pillow."""
    io, torch = require("torchvision.io"), require("torch")
    try:
        with warnings.catch_warnings():  # of its replacement by torchcodec, one day
            warnings.simplefilter("ignore", DeprecationWarning)
            pictures: list[Any] = io.decode_jpeg(files, mode=io.ImageReadMode.RGB, device=device)
    except RuntimeError:
        pictures = []
        for file in files:
            pixels = np.asarray(decode(file.numpy().tobytes())).transpose(2, 0, 1)
            pictures.append(torch.from_numpy(np.ascontiguousarray(pixels)).to(device))
    return pictures


def ahead(items: Iterable[T], depth: int) -> Iterator[T]:
    """Return the same items, made by a thread that is up to `depth` of them ahead.

    What making them raises is raised here.  The thread ends soon after this iterator is closed.
    """
    queue: Queue[tuple[str, Any]] = Queue(depth)
    closed = Event()

    def put(kind: str, item: Any) -> None:
        while not closed.is_set():
            with suppress(Full):
                queue.put((kind, item), timeout=0.1)
                return

    def make() -> None:
        try:
            for item in items:
                put("item", item)
                if closed.is_set():
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    thread = Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            kind, item = queue.get()
            if kind == "end":
                return
            if kind == "error":
                raise item
            yield item
    finally:
        closed.set()
        thread.join()
