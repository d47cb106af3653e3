"""Read and decode pictures for a network, in separate processes and in order.

For a network on the CPU they make its input.  For one on a GPU they make grey levels, or the bytes
of a JPEG file that the GPU decodes to the same picture; the GPU does the rest, a few batches ahead.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import EngineError, SourceError
from benchmark_spec.extras import require
from builders.features.backbone import Preprocessing
from builders.sources.image_set import ImageSet, sha256_of_bytes
from builders.sources.packaged import canaries
from fslbench_data.pictures import ORIENTATION, decode, opened

Ids = Sequence[int]


@dataclass(frozen=True)
class Batch:
    """The pictures of some ids, one after the other, in one piece of memory.

    Without `shapes`, `data` is the network's input, float32 (B, 3, H, W); else it is uint8 (n,),
    and `shapes` has that of each picture: (3, h, w) of grey levels, (n,) of a JPEG file's bytes.
    `problem` is the first image that cannot be read, and why; there is no data then.
    """

    ids: Ids
    data: Any
    shapes: tuple[tuple[int, ...], ...] = ()
    problem: tuple[int, str] | None = None

    def pin_memory(self) -> Batch:
        """Return it in pinned memory, as torch's loader asks."""
        return replace(self, data=self.data.pin_memory())

    def parts(self) -> list[Any]:
        """Return each picture's part of `data`, in its shape."""
        sizes = [math.prod(shape) for shape in self.shapes]
        pieces = self.data.split(sizes)
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]


class Reader:
    """Reads the pictures of a data set in the processes of torch's loader.

    It makes the network's inputs; or, `for_gpu`, the bytes of plain JPEG files and the grey levels
    of other pictures.
    """

    def __init__(
        self, images: ImageSet, preprocessing: Preprocessing, *, for_gpu: bool = False
    ) -> None:
        self.images, self.preprocessing, self.for_gpu = images, preprocessing, for_gpu
        self.paths: list[str] = images.images.column("path").to_pylist()
        self.digests: list[str | None] = images.images.column("sha256").to_pylist()
        refuses_some = bool(preprocessing.sizes or preprocessing.grey)
        self._checks = refuses_some and images.name != canaries.NAME  # which every network takes

    def __getitems__(self, ids: Ids) -> Batch:
        """Read a batch; one without data if an image cannot be read."""
        torch, parts = require("torch"), []
        for image_id in ids:
            try:
                parts.append(torch.from_numpy(self._read(image_id)))
            except Exception as error:
                reason = str(error).splitlines()[0] if str(error) else repr(error)
                return Batch(ids, torch.empty(0), problem=(image_id, reason))
        if not self.for_gpu:
            return Batch(ids, torch.stack(parts))
        shapes = tuple(tuple(part.shape) for part in parts)
        return Batch(ids, torch.cat([part.reshape(-1) for part in parts]), shapes)

    def _read(self, image_id: int) -> NDArray[Any]:
        path, expected = self.paths[image_id], self.digests[image_id]
        file = self.images.file(path) if self.images.file else None
        if file is None:
            picture = self.images.picture(path)
        else:
            data = file.read_bytes()
            if expected and sha256_of_bytes(data) != expected:
                raise ValueError(f"is another file than was read before: not SHA-256 {expected}")
            if self.for_gpu and not self._checks and is_plain_jpeg(data):
                return np.frombuffer(bytearray(data), dtype=np.uint8)
            picture = decode(data)
        if self._checks:
            self.preprocessing.check(picture)
        if not self.for_gpu:
            return self.preprocessing.reference(picture)
        return np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1))


def is_plain_jpeg(data: bytes) -> bool:
    """Return whether a file is a whole JPEG of the usual kind, which all decoders read alike."""
    if not data.startswith(b"\xff\xd8\xff") or not data.rstrip(b"\0").endswith(b"\xff\xd9"):
        return False
    try:
        with opened(data) as picture:
            upright = picture.getexif().get(ORIENTATION, 1) == 1
            coded = picture.mode == "L" or (
                picture.mode == "RGB" and picture.info.get("adobe_transform", 1) == 1
            )
            return bool(picture.format == "JPEG" and coded and upright)
    except SourceError:
        return False


class Batches:
    """Decodes batches in order; its processes stay from one call to the next."""

    def __init__(self, reader: Reader, workers: int, *, pinned: bool) -> None:
        torch = require("torch")
        if not sys.platform.startswith("linux"):
            workers = 0  # where a process cannot be forked, pictures cannot be handed to it
        self._ids: list[Ids] = []  # of batches; the loader reads it at every call
        self._loader = torch.utils.data.DataLoader(
            reader,
            batch_sampler=self._ids,
            collate_fn=lambda batch: batch,
            num_workers=workers,
            prefetch_factor=3 if workers else None,
            persistent_workers=workers > 0,
            multiprocessing_context="fork" if workers else None,
            pin_memory=pinned,
            generator=torch.Generator(),  # not the global one
        )

    def __call__(self, batches: Iterable[Ids]) -> Iterator[Batch]:
        """Yield the batch of each list of ids; EngineError if a decoding process was killed."""
        self._ids[:] = batches
        try:
            yield from self._loader
        except RuntimeError as error:
            if "DataLoader worker" not in str(error):
                raise
            raise EngineError(
                f"a process that decodes pictures has died: {str(error).splitlines()[0]}",
                fix="it may lack memory, or room in /dev/shm: give fewer --workers (0 for none) "
                "or a smaller --batch",
            ) from None


def problem_of(images: ImageSet, image_id: int, problem: str) -> str:
    """Return a sentence on an image that cannot be read."""
    path = images.images.column("path")[image_id].as_py()
    return f"{images.name}: image {image_id} ({path}) cannot be shown: {problem}"


T = TypeVar("T")


def inputs_on_gpu(
    batches: Iterable[Batch], preprocessing: Preprocessing
) -> Iterator[tuple[Batch, Any]]:
    """Yield each batch with the network's input, float32 (B, 3, H, W) on the GPU."""
    torch = require("torch")
    stream = torch.cuda.Stream(priority=-1)  # its kernels go before the network's

    def prepared() -> Iterator[tuple[Batch, Any, Any]]:
        for batch in ahead(batches, 3):
            with torch.cuda.stream(stream), torch.no_grad():
                pixels = preprocessing.batch(grey_levels(batch, "cuda"))
                yield batch, pixels, stream.record_event()

    for batch, pixels, is_prepared in ahead(prepared(), 3):
        network_stream = torch.cuda.current_stream()
        network_stream.wait_event(is_prepared)
        pixels.record_stream(network_stream)
        yield batch, pixels


def grey_levels(batch: Batch, device: str) -> list[Any]:
    """Return the pictures of a batch on a device, uint8 (3, h, w)."""
    parts = batch.parts()
    files = {i: part for i, part in enumerate(parts) if part.ndim == 1}
    pictures = list(parts)
    if len(files) < len(parts):  # one copy for all
        pictures = replace(batch, data=batch.data.to(device, non_blocking=True)).parts()
    if files:
        for i, picture in zip(files, _decoded([*files.values()], device), strict=True):
            pictures[i] = picture
    return pictures


def _decoded(files: list[Any], device: str) -> list[Any]:
    """Decode JPEG files, uint8 (n,) each, on the device; if it refuses one, by Pillow."""
    io, torch = require("torchvision.io"), require("torch")
    try:
        with warnings.catch_warnings():  # it will once be replaced by torchcodec
            warnings.simplefilter("ignore", DeprecationWarning)
            pictures: list[Any] = io.decode_jpeg(files, mode=io.ImageReadMode.RGB, device=device)
    except RuntimeError:
        pictures = []
        for file in files:
            pixels = np.asarray(decode(file.numpy().tobytes())).transpose(2, 0, 1)
            pictures.append(torch.from_numpy(np.ascontiguousarray(pixels)).to(device))
    return pictures


def ahead(items: Iterable[T], depth: int) -> Iterator[T]:
    """Yield the same items, made by a thread that stays `depth` of them ahead."""
    source, end = iter(items), object()
    thread = ThreadPoolExecutor(1)
    futures: deque[Future[Any]] = deque(thread.submit(next, source, end) for _ in range(depth))
    try:
        while (item := futures.popleft().result()) is not end:
            futures.append(thread.submit(next, source, end))
            yield item
    finally:
        thread.shutdown(cancel_futures=True)
