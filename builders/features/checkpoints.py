"""Find and load the weights of models of open_clip and timm.

Features of ``open_clip:ARCH/TAG_OR_FILE`` are image embeddings, not normalised; weights that were
trained with QuickGELU get it by their tag.  Features of ``timm:MODEL[@FILE]`` are the input of its
classifier; MODEL may name the weights too, ``resnet18.a1_in1k``, and FILE replaces the Hub's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_spec.errors import BackboneError, FSLBenchError, HubError, UnknownNameError
from benchmark_spec.extras import require
from builders.features.backbone import Backbone, Preprocessing
from fslbench_data.files import sha256_of
from fslbench_data.hub import fetch

_OPEN_CLIP_CONFIG = ("mean", "std", "interpolation", "resize_mode")
"""The preprocessing fields of a tag of open_clip."""

TIMM_FILES = ("model.safetensors", "pytorch_model.bin")
"""Files of timm's repositories on the Hub, best first."""


@dataclass(frozen=True)
class Checkpoint:
    """The weights of a model; its name is ``FAMILY:MODEL``, with file names instead of paths.

    `weights` describes where they came from; `config` is the library's configuration of them.
    """

    name: str
    model: str
    file: Path
    weights: Mapping[str, str]
    config: Any


def local_file(text: str, folder: Path | None) -> Path | None:
    """Find a file by its path, as it is or below the weights folder; None if there is none."""
    for path in (Path(text).expanduser(), *([folder / text] if folder else [])):
        if path.is_file():
            return path
    return None


def hub_file(
    name: str, repo: str, files: Sequence[str], by_hand: str
) -> tuple[Path, dict[str, str]]:
    """Find a file of a model repository in the Hub's cache or on the Hub, and describe it.

    `repo` is ``owner/name``, perhaps with ``@revision``; the first of `files` that exists is taken.
    BackboneError says which file to provide, and how (`by_hand`).
    """
    repo, _, revision = repo.partition("@")
    problem: HubError | None = None
    for file in files:
        try:
            path = fetch(repo, file, revision or "main", repo_type="model")
        except HubError as error:
            problem = problem or error
        else:
            snapshot = path.parts[path.parts.index("snapshots") + 1]
            return path, {"hub": repo, "file": file, "revision": snapshot}
    reason = problem.what if problem else "no file is known"
    raise BackboneError(
        f"{name} needs a file that cannot be had: {reason}",
        where=f"the Hub's repository {repo}",
        expected=" or ".join(files),
        fix=f"where there is a connection: hf download {repo} {files[0]}; then name the file as "
        f"{by_hand}",
    )


@contextmanager
def loading(name: str, path: Path) -> Iterator[None]:
    """Turn any error of a library that loads a checkpoint into a BackboneError."""
    try:
        yield
    except (FSLBenchError, MemoryError):
        raise
    except Exception as error:
        message = " ".join(str(error).split())
        raise BackboneError(
            f"{name} cannot be made of {path.name}: {type(error).__name__}: {message[:300]}",
            where=str(path),
            expected="a checkpoint of that architecture, as its library saves it",
            fix="check that the file belongs to the architecture and is whole",
        ) from error


def find_open_clip(spec: str, folder: Path | None, family: str = "open_clip") -> Checkpoint:
    """Find the weights of ``ARCH/TAG_OR_FILE``; their name begins with `family`."""
    open_clip = require("open_clip")
    arch, _, tag_or_file = spec.partition("/")
    if arch not in open_clip.list_models():
        raise UnknownNameError("open_clip architecture", arch, open_clip.list_models())
    by_hand = f"{family}:{arch}/FILE"
    tag = open_clip.get_pretrained_cfg(arch, tag_or_file) if tag_or_file else {}
    if tag:
        name = f"{family}:{arch}/{tag_or_file}"
        repo, _, file_name = tag["hf_hub"].rpartition("/")  # owner/name/ or owner/name/file
        file_name = file_name or "open_clip_pytorch_model.bin"
        usual = file_name == "open_clip_pytorch_model.bin"
        safe = "open_clip_model" if usual else Path(file_name).stem
        files = (f"{safe}.safetensors", file_name)
        return Checkpoint(name, arch, *hub_file(name, repo, files, by_hand), tag)
    if tag_or_file and (file := local_file(tag_or_file, folder)):
        return Checkpoint(f"{family}:{arch}/{file.name}", arch, file, {"file": file.name}, {})
    raise UnknownNameError(
        f"weights of open_clip's {arch}",
        tag_or_file,
        open_clip.list_pretrained_tags_by_model(arch),
        fix=f"or the path of a checkpoint: {by_hand}",
    )


def create_open_clip(checkpoint: Checkpoint, **options: Any) -> Any:
    """Return the whole model; `options` are other parameters of open_clip's ``create_model``."""
    tag = checkpoint.config
    with loading(checkpoint.name, checkpoint.file):
        return require("open_clip").create_model(
            checkpoint.model,
            pretrained=str(checkpoint.file),
            force_quick_gelu=bool(tag.get("quick_gelu")),
            force_preprocess_cfg={k: tag[k] for k in _OPEN_CLIP_CONFIG if tag.get(k) is not None},
            require_pretrained=True,
            **options,
        )


def load_open_clip(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load the image tower of ``ARCH/TAG_OR_FILE``, with its own preprocessing or the paper's."""
    checkpoint = find_open_clip(spec, folder)
    tower = create_open_clip(checkpoint, force_image_size=paper.crop if paper else None).visual
    # a tower may return the tokens with the embedding (CoCa)
    tower.register_forward_hook(lambda _, __, out: out[0] if isinstance(out, tuple) else out)
    return Backbone(
        checkpoint.name,
        tower,
        paper or open_clip_preprocessing(tower.preprocess_cfg),
        weights_sha256=sha256_of(checkpoint.file),
        weights=checkpoint.weights,
    )


def open_clip_preprocessing(config: dict[str, Any]) -> Preprocessing:
    """Translate a configuration as open_clip's ``image_transform_v2`` reads it in evaluation."""
    size = config["size"]
    size = (size, size) if isinstance(size, int) else tuple(size)
    sides: dict[str, Any] = {"shortest": "short", "longest": "long", "squash": "both"}
    if config["resize_mode"] not in sides:
        raise BackboneError(f"open_clip's resize_mode {config['resize_mode']!r} is not known")
    return Preprocessing(
        resize=size,
        crop=size,
        interpolation="bilinear" if config["interpolation"] == "bilinear" else "bicubic",
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        side=sides[config["resize_mode"]],
        fill=(config["fill_color"],) * 3,
    )


def find_timm(spec: str, folder: Path | None) -> Checkpoint:
    """Find the weights of ``MODEL[@FILE]``."""
    timm = require("timm")
    model, at_sign, path = spec.partition("@")
    arch, _, tag = model.partition(".")
    if not timm.is_model(arch):
        raise UnknownNameError("timm model", arch, timm.list_models())
    tags = [name.partition(".")[2] for name in timm.list_pretrained(f"{arch}.*")]
    if tag and tag not in tags:
        raise UnknownNameError(f"weights of timm's {arch}", tag, tags)
    config, name = timm.get_pretrained_cfg(model), f"timm:{model}"
    by_hand = f"{name}@FILE"
    if at_sign:
        file = local_file(path, folder)
        if file is None:
            raise BackboneError(f"there is no file {path}", where=by_hand)
        return Checkpoint(f"{name}@{file.name}", model, file, {"file": file.name}, config)
    if config.hf_hub_id:
        file, weights = hub_file(name, config.hf_hub_id, TIMM_FILES, by_hand)
    elif config.url:
        raise BackboneError(
            f"{name} needs a file that is not on the Hub",
            where=config.url,
            expected=Path(config.url).name,
            fix=f"get it where there is a connection, and name the file as {by_hand}",
        )
    else:
        raise BackboneError(f"timm has no weights of {model}", fix=f"name a checkpoint: {by_hand}")
    described = {"tag": config.tag, "licence": config.license}
    weights |= {key: value for key, value in described.items() if value}
    return Checkpoint(name, model, file, weights, config)


def load_timm(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load ``MODEL[@FILE]`` without its classifier, with its own preprocessing or the paper's."""
    checkpoint = find_timm(spec, folder)
    timm, file, config = require("timm"), checkpoint.file, checkpoint.config
    size = {"img_size": paper.crop} if paper and config.fixed_input_size else {}
    overlay: dict[str, Any] = {"custom_load": False}
    with loading(checkpoint.name, file):
        if "@" in checkpoint.name:
            overlay |= _file_overlay(file, config)
        overlay["file"] = str(file)
        module = timm.create_model(
            checkpoint.model, pretrained=True, pretrained_cfg_overlay=overlay, **size
        )
        module.reset_classifier(0)
    return Backbone(
        checkpoint.name,
        module,
        paper or timm_preprocessing(require("timm.data").resolve_data_config(model=module)),
        weights_sha256=sha256_of(file),
        weights=checkpoint.weights,
    )


def timm_preprocessing(config: dict[str, Any]) -> Preprocessing:
    """Translate a data configuration as timm's ``create_transform`` reads it in evaluation."""
    channels, tall, wide = config["input_size"]
    kernel, mode = config["interpolation"], config["crop_mode"]
    sides: dict[str, Any] = {"center": "short", "border": "long", "squash": "both"}
    if channels != 3 or kernel not in ("bilinear", "bicubic") or mode not in sides:
        raise BackboneError(
            f"{channels} channels, interpolation {kernel!r}, crop mode {mode!r}",
            expected="3 channels; bilinear or bicubic; center, border or squash",
        )
    mean = tuple(config["mean"])
    border = tuple(round(255 * value) for value in mean) if mode == "border" else (0, 0, 0)
    return Preprocessing(
        resize=(math.floor(tall / config["crop_pct"]), math.floor(wide / config["crop_pct"])),
        crop=(tall, wide),
        interpolation=kernel,
        mean=mean,
        std=tuple(config["std"]),
        side=sides[mode],
        fill=border,
    )


def _file_overlay(file: Path, config: Any) -> dict[str, Any]:
    """Return the fields in which a file differs from timm's own: number of classes, or format."""
    if file.suffix == ".npz":
        return {"custom_load": True}
    state = require("timm.models").load_state_dict(str(file))
    names = [config.classifier] if isinstance(config.classifier, str) else config.classifier
    key = f"{names[0]}.weight" if names else ""
    classes = len(state[key]) if key in state else 0
    if classes == config.num_classes + (config.label_offset or 0):
        return {}
    return {"num_classes": classes, "label_offset": 0}
