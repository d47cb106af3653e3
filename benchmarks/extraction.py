"""How much of a network's speed extraction keeps: from JPEG files to features, and without them.

``python benchmarks/extraction.py [--weights DIR]``.  The bare forward pass puts one batch that is
ready through the network again and again; extraction reads and decodes files, resizes, puts them
through the same network in the same batches, and gives blocks of features.  Rounds of both take
turns, since machines are noisy; the figure is the median of the rounds' ratios.  Beside it, on a
CPU, stands the share that the network has of the processor time that a picture takes, which is what
extraction can keep at most where the network alone keeps all processors busy.  Weights do not
matter for speed: without DIR they are random.

With a GPU: ViT-B/16 in bf16, whose limit is 90 %, of files of five sizes and of as many sizes as
there are files.  On the CPU the limit is 95 %, of ViT-B/16; the
four small networks are timed too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from PIL import Image
from sklearn.datasets import load_sample_images
from timm.data.config import resolve_data_config

from builders.execution.engine import reproducible
from builders.features.backbone import Backbone, Preprocessing
from builders.features.backbones import load_backbone
from builders.features.block_job import BlockJob, Settings, Survey
from builders.features.checkpoints import timm_preprocessing
from builders.features.extraction import Network
from builders.features.processor import default_threads, facts
from builders.sources.image_set import About, ImageSet, images_table
from fslbench_data.pictures import decode

LIMITS = {"cpu": 0.95, "cuda": 0.90}
SIZES = ((500, 375), (375, 427), (500, 333), (640, 427), (400, 300))
VIT = "ViT-B/16"
SMALL = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2", "mobilenet_v2")
ARCHITECTURES = {
    VIT: "vit_base_patch16_224",
    "efficientnet_lite0": "tf_efficientnet_lite0",
    "efficientnet_lite1": "tf_efficientnet_lite1",
    "efficientnet_lite2": "tf_efficientnet_lite2",
    "mobilenet_v2": "mobilenetv2_100",
}


def photographs(folder: Path, number: int, *, mixed: bool = False) -> ImageSet:
    """Return JPEG files of five sizes of ImageNet's, or of their own, cut out of photographs."""
    chance = np.random.default_rng(0)
    sources = [Image.fromarray(array) for array in load_sample_images().images]
    names = []
    for i in range(min(number, 2000)):
        width, height = SIZES[i % len(SIZES)]
        if mixed:
            width, height = int(chance.integers(300, 641)), int(chance.integers(300, 428))
        left, top = int(chance.integers(641 - width)), int(chance.integers(428 - height))
        part = sources[i % 2].crop((left, top, left + width, top + height))
        names.append(f"{i:05d}.jpg")
        part.save(folder / names[-1], quality=90)
    paths = [names[i % len(names)] for i in range(number)]
    columns = {"image_id": range(number), "class_id": [0] * number, "class_name": ["x"] * number}
    return ImageSet(
        name="photographs",
        about=About("", "", "", ""),
        class_names=("x",),
        class_sizes=(number,),
        images=images_table({**columns, "path": paths}),
        provenance={},
        picture=lambda path: decode(folder / path),
        file=lambda path: folder / path,
    )


@dataclass(frozen=True)
class Random(Network):
    """A network that is loaded with weights where they are at hand, and else with random ones."""

    def load(self) -> Backbone:
        """Return the backbone; a process keeps the last one."""
        return _backbone(self)


def _backbone(network: Network, kept: dict[Any, Backbone] = {}) -> Backbone:  # noqa: B006
    if network not in kept:
        kept.clear()
        if network.weights is not None and network.name in SMALL:
            found = load_backbone(network.name, network.weights)
        else:
            torch.manual_seed(0)
            module = timm.create_model(ARCHITECTURES[network.name], num_classes=0)
            found = Backbone(network.name, module, _preprocessing(network.name, module))
        kept[network] = found.to(network.device, network.dtype)
    return kept[network]


def _preprocessing(name: str, module: Any) -> Preprocessing:
    if name == VIT:
        return timm_preprocessing(resolve_data_config(model=module))
    size = {"efficientnet_lite1": 240, "efficientnet_lite2": 260}.get(name, 224)
    kernel: Any = "bilinear" if name == "mobilenet_v2" else "bicubic"
    colours = (127.0,) * 3, (128.0,) * 3
    return Preprocessing((size + 32,) * 2, (size,) * 2, kernel, *colours, white=255)


def compare(network: Network, images: ImageSet, rounds: int, settings: Settings) -> dict[str, Any]:
    """Return images a second of both, round by round."""
    threads = settings.threads or default_threads(network.device)
    ((_, survey),) = settings.engine.run(
        Survey(network, threads, settings.batch, settings.block), [0]
    )
    backbone, size = network.load(), survey["batch"]
    job = BlockJob(network, images, survey, settings.workers_for(threads))
    number = len(images.images)
    ready = torch.rand(size, 3, *backbone.preprocessing.crop).to(network.device)
    wait = torch.cuda.synchronize if network.device == "cuda" else lambda: None
    bare, whole = [], []
    for _ in range(rounds + 1):  # the first warms up
        with reproducible(threads):
            begin = time.perf_counter()
            for _ in range(-(-number // size)):
                backbone.features(ready)
            wait()
            bare.append(-(-number // size) * size / (time.perf_counter() - begin))
        work = job.start()
        begin = time.perf_counter()
        for _ in work(range(-(-number // settings.block))):
            pass
        whole.append(number / (time.perf_counter() - begin))
        del work  # and with it the processes that decode
    ratios = [b / a for a, b in zip(bare[1:], whole[1:], strict=True)]
    return {
        "bare": statistics.median(bare[1:]),
        "whole": statistics.median(whole[1:]),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "batch": size,
    }


def processor_time(images: ImageSet, backbone: Backbone, batch: int) -> tuple[float, float]:
    """Measure milliseconds of one processor a picture, in the network and to be made ready."""
    ready = torch.rand(batch, 3, *backbone.preprocessing.crop)
    number = min(len(images.images), 64)
    with reproducible(1):
        backbone.features(ready)
        begin = time.process_time()
        backbone.features(ready)
        network = (time.process_time() - begin) / batch
    begin = time.process_time()
    for i in range(number):
        backbone.preprocessing.reference(images.open(i))
    return 1e3 * network, 1e3 * (time.process_time() - begin) / number


def main() -> None:
    """Print the table; exit code 1 below a limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[VIT, *SMALL])
    args = parser.parse_args()
    gpu = torch.cuda.is_available()
    device: Any = "cuda" if gpu else "cpu"
    machine = facts(device, "")["processor"]
    print(f"{machine}, {os.cpu_count()} CPU cores; torch {torch.__version__}", flush=True)
    print(
        "| network | numbers | batch | forward, images/s | extraction, images/s | ratio (least) "
        "| limit | CPU ms a picture: network, getting ready | the network's share |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        images_of = partial(photographs, Path(folder))
        kinds = [(VIT, False), (VIT, True)] if gpu else [(name, False) for name in args.only]
        for network, mixed in kinds:
            number = args.images or (81_920 if gpu else 96 if network == VIT else 384)
            dtype: Any = "bfloat16" if gpu else "float32"
            images = images_of(number, mixed=mixed)
            kind = Random(network, args.weights, device, dtype)
            found = compare(kind, images, args.rounds, Settings(device=device, dtype=dtype))
            limit = LIMITS[device] if network == VIT else None
            share = "|"
            if not gpu:
                network_ms, ready_ms = processor_time(images, kind.load(), found["batch"])
                of_all = network_ms / (network_ms + ready_ms)
                share = f"{network_ms:.1f}, {ready_ms:.1f} | {of_all:.1%}"
            name = f"{network}, mixed sizes" if mixed else network
            print(
                f"| {name} | {dtype} | {found['batch']} | {found['bare']:,.1f} | "
                f"{found['whole']:,.1f} | {found['ratio']:.1%} ({found['least']:.1%}) | "
                f"{f'at least {limit:.0%}' if limit else ''} | {share} |",
                flush=True,
            )
            if limit and found["ratio"] < limit:
                failed.append(network)
    if not gpu:
        print("no GPU at hand: ViT-B/16 in bf16 against its limit of 90 % was not run")
    if failed:
        sys.exit(f"below the limit: {', '.join(failed)}")


if __name__ == "__main__":
    main()
