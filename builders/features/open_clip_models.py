"""Every model of open_clip: ``open_clip:ARCH/TAG_OR_FILE``; features are image embeddings.

Embeddings are not normalised, and only the image tower is kept.  A tag whose weights were trained
with QuickGELU gets QuickGELU, whatever the architecture's name: open_clip itself only warns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_spec.errors import BackboneError, UnknownNameError
from benchmark_spec.extras import require
from builders.features.backbone import Backbone, Preprocessing
from builders.features.checkpoints import hub_file, loading, local_file
from fslbench_data.files import sha256_of

FAMILY = "open_clip"
USAGE = f"{FAMILY}:ARCH/TAG_OR_FILE"

_CONFIG = ("mean", "std", "interpolation", "resize_mode")
"""What a tag says of preprocessing."""


def load(spec: str, folder: Path | None, paper: Preprocessing | None = None) -> Backbone:
    """Load the image tower of ``ARCH/TAG_OR_FILE``, with its own preprocessing or the paper's."""
    checkpoint = find(spec, folder)
    model = checkpoint.create(force_image_size=paper.crop if paper else None)
    tower = model.visual
    tower.register_forward_hook(_embedding)
    return Backbone.of(
        checkpoint.name,
        tower,
        paper or preprocessing_of(tower.preprocess_cfg),
        weights_sha256=sha256_of(checkpoint.file),
        weights=checkpoint.weights,
    )


@dataclass(frozen=True)
class Checkpoint:
    """The weights of a model of open_clip.

    `name` is ``FAMILY:ARCH/TAG``, or has the file's name; `weights` says where they came from, and
    `tag` what open_clip says of the tag, nothing of a file.
    """

    name: str
    arch: str
    file: Path
    weights: Mapping[str, str]
    tag: Mapping[str, Any]

    def create(self, **options: Any) -> Any:
        """Return the whole model, with what open_clip's ``create_model`` takes besides."""
        tag = self.tag
        with loading(self.name, self.file):
            return require("open_clip").create_model(
                self.arch,
                pretrained=str(self.file),
                force_quick_gelu=bool(tag.get("quick_gelu")),
                force_preprocess_cfg={k: tag[k] for k in _CONFIG if tag.get(k) is not None},
                require_pretrained=True,
                **options,
            )


def find(spec: str, folder: Path | None, family: str = FAMILY) -> Checkpoint:
    """Find the weights of ``ARCH/TAG_OR_FILE``; `family` stands before it in their name."""
    open_clip = require("open_clip")
    arch, _, wanted = spec.partition("/")
    if arch not in open_clip.list_models():
        raise UnknownNameError("open_clip architecture", arch, open_clip.list_models())
    by_hand = f"{family}:{arch}/FILE"
    tag = open_clip.get_pretrained_cfg(arch, wanted) if wanted else {}
    file = local_file(wanted, folder) if wanted and not tag else None
    if tag:
        name = f"{family}:{arch}/{wanted}"
        file, weights = hub_file(name, *_of_hub(tag["hf_hub"]), by_hand)
    elif file:
        name, weights = f"{family}:{arch}/{file.name}", {"file": file.name}
    else:
        raise UnknownNameError(
            f"weights of open_clip's {arch}",
            wanted,
            open_clip.list_pretrained_tags_by_model(arch),
            fix=f"or the path of a checkpoint: {by_hand}",
        )
    return Checkpoint(name, arch, file, weights, tag)


def preprocessing_of(config: dict[str, Any]) -> Preprocessing:
    """Tell what open_clip's ``image_transform_v2`` does for evaluation with that configuration."""
    size = config["size"]
    tall, wide = (size, size) if isinstance(size, int) else size
    sides: dict[str, Any] = {"shortest": "short", "longest": "long", "squash": "both"}
    kernel = "bilinear" if config["interpolation"] == "bilinear" else "bicubic"
    if config["resize_mode"] not in sides:
        raise BackboneError(f"open_clip's resize_mode {config['resize_mode']!r} is not known")
    return Preprocessing(
        resize=(tall, wide),
        crop=(tall, wide),
        interpolation=kernel,  # type: ignore[arg-type]
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        side=sides[config["resize_mode"]],
        fill=(config["fill_color"],) * 3,
    )


def _of_hub(entry: str) -> tuple[str, tuple[str, ...]]:
    """Split ``owner/name/`` or ``owner/name/file`` into repository and files, best first."""
    repo, _, file = entry.rpartition("/")
    file = file or "open_clip_pytorch_model.bin"
    if file == "open_clip_pytorch_model.bin":
        return repo, ("open_clip_model.safetensors", file)
    return repo, (f"{Path(file).stem}.safetensors", file)


def _embedding(module: Any, inputs: Any, output: Any) -> Any:
    """Return the embedding alone, of towers that give the tokens too (CoCa)."""
    return output[0] if isinstance(output, tuple) else output
