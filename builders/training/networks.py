"""The networks that can be trained, Conv4 and ResNet-12.

Conv4 is that of Vinyals et al. (NeurIPS 2016), ResNet-12 that of Oreshkin et al. (NeurIPS 2018)
with the widths, dropout and DropBlock of Lee et al. (CVPR 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torchvision.ops import drop_block2d

SLOPE = 0.1
"""The slope of ResNet-12's leaky rectifiers below zero."""


class Network(nn.Module):
    """A network from images (B, C, H, W) to maps (B, `channels`, h, w).

    With `mixed` it trains in bfloat16 where PyTorch deems that safe; maps are float32.
    """

    channels: int
    halvings: int
    blocks: nn.Module
    mixed: bool = False

    def size(self, side: int) -> int:
        """Return h = w of maps of images with sides of `side` pixels."""
        return side >> self.halvings

    def width(self, side: int) -> int:
        """Return how many numbers the map of such an image has."""
        return self.channels * self.size(side) ** 2

    def forward(self, images: Tensor) -> Tensor:
        """Compute maps."""
        if not (self.mixed and self.training):
            maps: Tensor = self.blocks(images)
            return maps
        with torch.autocast(images.device.type, torch.bfloat16):
            maps = self.blocks(images)
        return maps.float()


class Conv4(Network):
    """Four blocks: convolution, batch normalisation, a rectifier with `slope`, perhaps max-pooling.

    `channels` is that of each block, 64 in most papers; `inputs` is C, 1 for grey images.
    """

    def __init__(
        self,
        channels: int = 64,
        pools: Sequence[bool] = (True, True, True, True),
        slope: float = 0.0,
        inputs: int = 1,
    ) -> None:
        super().__init__()
        self.channels, self.halvings = channels, sum(pools)
        blocks = []
        for number, pool in enumerate(pools):
            blocks += [
                nn.Conv2d(channels if number else inputs, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
                nn.LeakyReLU(slope) if slope else nn.ReLU(),
                *([nn.MaxPool2d(2)] if pool else []),
            ]
        self.blocks = nn.Sequential(*blocks)


class ResNet12(Network):
    """Four residual blocks; sides of 84 pixels become 5 (10 where the last does not pool).

    In training a share `drop` of numbers is set to 0: single numbers in the first two blocks,
    squares of `drop_block` places in the others, whose share rises over `drop_ramp` passes.
    """

    def __init__(
        self,
        widths: Sequence[int] = (64, 160, 320, 640),
        pools: Sequence[bool] = (True, True, True, True),
        inputs: int = 1,
        *,
        drop: float = 0.0,
        drop_block: int = 5,
        drop_ramp: int = 40_000,
    ) -> None:
        super().__init__()
        self.channels, self.halvings = widths[-1], sum(pools)
        blocks = []
        for number, (width, pool) in enumerate(zip(widths, pools, strict=True)):
            block = drop_block if number > 1 else 1
            blocks.append(_Residual(inputs, width, pool, drop, block, drop_ramp))
            inputs = width
        self.blocks = nn.Sequential(*blocks)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, 0.1, "fan_out", "leaky_relu")


class _Residual(nn.Module):
    """Three convolutions parallel to one of 1 x 1, then dropout, in squares of `block` places."""

    def __init__(
        self, inputs: int, width: int, pool: bool, drop: float, block: int, ramp: int
    ) -> None:
        super().__init__()
        self._drop, self._block, self._ramp = drop, block, ramp
        self.convolutions = nn.Sequential(
            _convolution(inputs, width, 3), nn.LeakyReLU(SLOPE),
            _convolution(width, width, 3), nn.LeakyReLU(SLOPE),
            _convolution(width, width, 3),
        )  # fmt: skip
        self.beside = _convolution(inputs, width, 1)
        self.after = nn.Sequential(nn.LeakyReLU(SLOPE), *([nn.MaxPool2d(2)] if pool else []))

    def forward(self, maps: Tensor) -> Tensor:
        """Compute maps, of half the side if the block pools."""
        pooled: Tensor = self.after(self.convolutions(maps) + self.beside(maps))
        if not (self.training and self._drop):
            return pooled
        if self._block == 1:
            return dropout(pooled, self._drop)
        passes: Any = self.beside[1].num_batches_tracked  # part of the weights: resuming keeps it
        share = self._drop * min(1.0, int(passes) / self._ramp)
        side = min(self._block, pooled.shape[-1])
        odd_side = side if side % 2 else side - 1
        dropped: Tensor = drop_block2d(pooled, share, odd_side)
        return dropped


def _convolution(inputs: int, width: int, side: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, width, side, padding=side // 2, bias=False), nn.BatchNorm2d(width)
    )
