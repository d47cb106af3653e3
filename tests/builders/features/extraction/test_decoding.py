"""What decodes: which JPEG files a GPU may, batches in one piece, and a thread that is ahead."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import TINY, read_pictures, write_pictures

from benchmark_spec.errors import EngineError
from builders.features.backbones import load_backbone
from builders.features.decoding import Batches, Reader, ahead, grey_levels, is_plain_jpeg


def _jpeg(mode: str = "RGB", **options: Any) -> bytes:
    from PIL import Image

    chance = np.random.default_rng(0)
    rough = Image.fromarray(chance.integers(0, 256, (4, 5, 3), dtype=np.uint8))
    file = io.BytesIO()
    rough.resize((50, 40)).convert(mode).save(file, **({"format": "JPEG"} | options))
    return file.getvalue()


def _turned(orientation: int) -> Any:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def test_which_files_are_plain() -> None:
    assert is_plain_jpeg(_jpeg())
    assert is_plain_jpeg(_jpeg("L"))
    assert is_plain_jpeg(_jpeg(progressive=True))
    assert is_plain_jpeg(_jpeg() + b"\0\0")
    assert not is_plain_jpeg(_jpeg("CMYK"))
    assert not is_plain_jpeg(_jpeg(keep_rgb=True))
    assert not is_plain_jpeg(_jpeg(format="PNG"))
    assert not is_plain_jpeg(_jpeg()[:-100])
    assert not is_plain_jpeg(b"\xff\xd8\xff\xd9")
    assert not is_plain_jpeg(b"")
    assert is_plain_jpeg(_jpeg(exif=_turned(1)))
    assert not is_plain_jpeg(_jpeg(exif=_turned(6)))  # a decoder on the GPU would not turn it


def test_the_path_of_a_gpu_gives_nearly_the_reference(weights: Path, tmp_path: Path) -> None:
    """As far as it can be had without one: torch's decoder and resizing, on the CPU."""
    images = read_pictures(write_pictures(tmp_path / "pictures", 8))
    preprocessing = load_backbone(TINY, weights).preprocessing
    reader = Reader(images, preprocessing, "files")
    ids = list(range(20))
    batch = reader.__getitems__(ids)
    kinds = [len(shape) for shape in batch.shapes]
    assert [k == 1 for k in kinds] == [i % 2 == 1 for i in [*range(8), *range(8), *range(4)]]
    pixels = Reader(images, preprocessing, "pixels").__getitems__(ids)
    assert [len(shape) for shape in pixels.shapes] == [3] * 20
    for i, part in zip(ids, pixels.parts(), strict=True):
        np.testing.assert_array_equal(part.numpy().transpose(1, 2, 0), np.asarray(images.open(i)))
    grey = grey_levels(batch, "cpu")
    found = preprocessing.batch(grey).numpy()
    scale = 255 * np.array(preprocessing.std, np.float32)[:, None, None]
    for i, values in zip(ids, found, strict=True):
        expected = preprocessing.reference(images.open(i))
        off = np.abs(values - expected) * scale
        assert off.max() < (2.01 if kinds[i] == 3 else 8)  # the decoders differ a little
        assert off.mean() < 0.5


def test_bytes_that_no_decoder_takes_are_left_to_pillow() -> None:
    import torch

    from builders.features.decoding import Batch

    data = _jpeg(format="PNG")  # refused by the decoder of JPEG files, though no reader gives it
    bytes_ = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    (found,) = grey_levels(Batch([0], bytes_, (tuple(bytes_.shape),)), "cpu")
    assert found.shape == (3, 40, 50)


def test_a_killed_decoder_is_said_to_be(weights: Path, tmp_path: Path) -> None:
    import os
    import signal
    from dataclasses import replace

    images = read_pictures(write_pictures(tmp_path / "pictures", 5))
    broken = replace(images, file=None, picture=lambda path: os.kill(os.getpid(), signal.SIGKILL))
    reader = Reader(broken, load_backbone(TINY, weights).preprocessing, "inputs")
    with pytest.raises(EngineError, match=r"decodes pictures has died(.|\n)*fewer --workers"):
        list(Batches(reader, 1, pinned=False)([[0], [1]]))


def test_a_thread_is_ahead_and_ends() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    some = ahead(numbers(), 2)
    assert next(some) == 0
    time.sleep(0.3)
    assert len(made) == 3  # one taken, two ahead
    some.close()
    assert len(made) <= 5

    def failing() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    some = ahead(failing(), 2)
    assert next(some) == 1
    with pytest.raises(ValueError, match="no more"):
        next(some)
