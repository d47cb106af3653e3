"""Resize pictures of different sizes at once on a GPU, by two kernels in Triton.

Photographs rarely share a size, and a launch for each of them takes longer than the network.
Columns come first and rows second, each rounded to whole grey levels, as in Pillow; the arithmetic
is that of torch's antialiased resizing (``UpSampleKernel``, after Pillow's ``Resample.c``), so that
only ties are rounded differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

SUPPORT = {"nearest": 0, "bilinear": 1, "bicubic": 2}
"""How far a kernel reaches, in pixels of the smaller picture."""

ROWS = 8
"""Rows of a picture that a program of the GPU resizes."""


def resize(
    pictures: Sequence[Any],
    resized: Sequence[tuple[int, int]],
    corners: Sequence[tuple[int, int]],
    crop: tuple[int, int],
    interpolation: str,
    fill: Sequence[int],
) -> Any:
    """Return whole grey levels, float32 (B, 3, H, W), of pictures uint8 (3, h, w) on a device.

    Each becomes `resized` (height, width); then `crop` is cut out from its corner (top, left).
    Beyond the picture are the grey levels `fill` of red, green and blue.
    """
    device, (tall, wide) = pictures[0].device, crop
    pictures = [picture.contiguous() for picture in pictures]
    sizes = np.array([picture.shape[1:] for picture in pictures])
    places = np.cumsum([0, *(3 * wide * sizes[:-1, 0])])
    addresses = [picture.data_ptr() for picture in pictures]
    facts = np.column_stack([addresses, places, sizes, resized, corners])
    scales = sizes.astype(np.float32) / np.array(resized, np.float32)
    tables = [_sent(torch.from_numpy(table), device) for table in (facts, scales)]
    between = torch.empty(3 * wide * int(sizes[:, 0].sum()), dtype=torch.uint8, device=device)
    grey = torch.empty((len(pictures), 3, tall, wide), device=device)
    constants = (triton.next_power_of_2(wide), ROWS, SUPPORT[interpolation])
    columns_grid = (triton.cdiv(int(sizes[:, 0].max()), ROWS), 3, len(pictures))
    _columns[columns_grid](*tables, between, wide, *constants)
    rows_grid = (triton.cdiv(tall, ROWS), 3, len(pictures))
    _rows[rows_grid](*tables, between, grey, *fill, tall, wide, *constants)
    return grey


def _sent(table: Any, device: Any) -> Any:
    """Send a table to a device without waiting for the work there."""
    if device.type != "cuda":
        return table
    return table.pin_memory().to(device, non_blocking=True)


@triton.jit  # type: ignore[untyped-decorator]
def _reach(place, have, scale, support: tl.constexpr):  # type: ignore[no-untyped-def]
    """Find the pixels that places of the resized picture are made of: first, last, centre."""
    centre = scale * (place.to(tl.float32) + 0.5)
    if support == 0:
        first = tl.minimum(tl.maximum(centre.to(tl.int32), 0), have - 1)
        return first, first + 1, centre
    reach = support * tl.maximum(scale, 1.0)
    first = tl.maximum((centre - reach + 0.5).to(tl.int32), 0)
    last = tl.minimum((centre + reach + 0.5).to(tl.int32), have)
    return first, last, centre


@triton.jit  # type: ignore[untyped-decorator]
def _weight(pixel, last, centre, scale, support: tl.constexpr):  # type: ignore[no-untyped-def]
    """Weigh pixels, before weights are made to sum to one."""
    x = tl.abs(pixel.to(tl.float32) - centre + 0.5) / tl.maximum(scale, 1.0)
    if support == 0:
        weight = x * 0.0 + 1.0
    elif support == 1:
        weight = tl.maximum(1.0 - x, 0.0)
    else:  # Keys's cubic with a = -1/2
        near = (1.5 * x - 2.5) * x * x + 1.0
        far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
        weight = tl.where(x < 1.0, near, tl.where(x < 2.0, far, 0.0))
    return tl.where(pixel < last, weight, 0.0)


@triton.jit
def _level(summed, total):  # type: ignore[no-untyped-def]
    """Round a weighted mean to a whole grey level."""
    mean = summed / tl.where(total == 0.0, 1.0, total)
    return tl.floor(tl.minimum(tl.maximum(mean, 0.0), 255.0) + 0.5)


@triton.jit  # type: ignore[untyped-decorator]
def _columns(  # type: ignore[no-untyped-def]
    facts,
    scales,
    between,
    wide,
    padded: tl.constexpr,
    rows: tl.constexpr,
    support: tl.constexpr,
):
    """Resize rows of one channel of a picture: uint8 (h, w) to (h, `wide`), in `between`."""
    channel, image = tl.program_id(1), tl.program_id(2)
    fact = facts + image * 8
    height, width = tl.load(fact + 2).to(tl.int32), tl.load(fact + 3).to(tl.int32)
    y, x = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, padded)
    scale = tl.load(scales + image * 2 + 1)
    first, last, centre = _reach(x + tl.load(fact + 7).to(tl.int32), width, scale, support)
    line = (channel * height + y).to(tl.int64)
    source = tl.load(fact).to(tl.pointer_type(tl.uint8)) + (line * width)[:, None]
    summed, total = tl.zeros((rows, padded), tl.float32), tl.zeros((padded,), tl.float32)
    here = tl.program_id(0) * rows < height
    for k in range(tl.where(here, tl.max(last - first, 0), 0)):
        pixel = first + k
        weight = _weight(pixel, last, centre, scale, support)
        mask = (y < height)[:, None] & (pixel < last)[None, :]
        value = tl.load(source + pixel[None, :], mask, other=0)
        summed += weight[None, :] * value.to(tl.float32)
        total += weight
    level = _level(summed, total[None, :]).to(tl.uint8)
    place = between + tl.load(fact + 1) + (line * wide)[:, None] + x[None, :]
    tl.store(place, level, mask=(y < height)[:, None] & (x < wide)[None, :])


@triton.jit  # type: ignore[untyped-decorator]
def _rows(  # type: ignore[no-untyped-def]
    facts,
    scales,
    between,
    grey,
    red,
    green,
    blue,
    tall,
    wide,
    padded: tl.constexpr,
    rows: tl.constexpr,
    support: tl.constexpr,
):
    """Resize columns of one channel of a picture: (h, `wide`) to (`tall`, `wide`), in `grey`."""
    channel, image = tl.program_id(1), tl.program_id(2)
    fact = facts + image * 8
    height = tl.load(fact + 2).to(tl.int32)
    y, x = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, padded)
    row, column = y + tl.load(fact + 6).to(tl.int32), x + tl.load(fact + 7).to(tl.int32)
    scale = tl.load(scales + image * 2)
    first, last, centre = _reach(row, height, scale, support)
    source = between + tl.load(fact + 1) + x[None, :]
    summed, total = tl.zeros((rows, padded), tl.float32), tl.zeros((rows,), tl.float32)
    for k in range(tl.max(last - first, 0)):
        pixel = first + k
        weight = _weight(pixel, last, centre, scale, support)
        line = (channel * height + pixel).to(tl.int64)
        mask = (pixel < last)[:, None] & (x < wide)[None, :]
        value = tl.load(source + (line * wide)[:, None], mask, other=0)
        summed += weight[:, None] * value.to(tl.float32)
        total += weight
    level = _level(summed, total[:, None])
    inside_rows = (row >= 0) & (row < tl.load(fact + 4))
    inside_columns = (column >= 0) & (column < tl.load(fact + 5))
    fill = tl.where(channel == 0, red, tl.where(channel == 1, green, blue)).to(tl.float32)
    level = tl.where(inside_rows[:, None] & inside_columns[None, :], level, fill)
    place = ((image * 3 + channel).to(tl.int64) * tall + y) * wide
    tl.store(
        grey + place[:, None] + x[None, :], level, mask=(y < tall)[:, None] & (x < wide)[None, :]
    )
