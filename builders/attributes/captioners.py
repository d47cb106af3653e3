"""Load captioners, networks that write a picture's caption: transformers' ViT-GPT2 and BLIP.

A captioner is a folder with a model, or a model on the Hub.  Pictures are prepared by our own code,
since versions of transformers resize differently; a folder's generation settings are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import BackboneError, HubError, HubNotFoundError, UnknownNameError
from benchmark_spec.extras import require
from builders.attributes.given import GIVEN
from builders.features.backbone import Preprocessing
from builders.features.checkpoints import hub_file, loading
from builders.features.processor import Device
from fslbench_data.files import sha256_of
from fslbench_data.hub import fetch


@dataclass(frozen=True)
class Family:
    """A family of captioners.

    `hub` is the authors' model and `kind` the ``model_type`` of its configuration.  `model` and
    `tokenizer` are classes of transformers, `vocabulary` the files of a tokenizer without
    ``tokenizer.json``.  Every caption begins with the `prompt`.  docs/bias.md describes generation.
    """

    hub: str
    kind: str
    model: str
    tokenizer: str
    vocabulary: tuple[str, ...]
    generation: Mapping[str, int]
    prompt: str = ""


FAMILIES = {
    "vit_gpt2": Family(
        "nlpconnect/vit-gpt2-image-captioning",
        "vision-encoder-decoder",
        "VisionEncoderDecoderModel",
        "GPT2TokenizerFast",
        ("vocab.json", "merges.txt"),
        {"num_beams": 4, "max_new_tokens": 15},
    ),
    "blip": Family(
        "Salesforce/blip-image-captioning-base",
        "blip",
        "BlipForConditionalGeneration",
        "BertTokenizerFast",
        ("vocab.txt",),
        {"num_beams": 3, "max_new_tokens": 20, "min_new_tokens": 5},
    ),
    "blip_large": Family(
        "Salesforce/blip-image-captioning-large",
        "blip",
        "BlipForConditionalGeneration",
        "BertTokenizerFast",
        ("vocab.txt",),
        {"num_beams": 1, "max_length": 20},
        prompt="there",
    ),
}

CONFIG, PREPROCESSOR, TOKENIZER = "config.json", "preprocessor_config.json", "tokenizer.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
OPTIONAL = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")

COCA = "coca"
CAPTIONERS = (*(f"{family}[@FOLDER]" for family in FAMILIES), f"{COCA}[:ARCH/TAG_OR_FILE]")
"""Forms of a captioner's name."""


def check_captioner(name: str, where: str = "") -> tuple[str, str]:
    """Split a captioner's name into its family and its folder or network ('' without one)."""
    family, at_sign, folder = name.partition("@")
    if family in FAMILIES and bool(at_sign) == bool(folder):
        return family, folder
    family, colon, network = name.partition(":")
    if family == COCA and (not colon or all(network.partition("/"))):
        return COCA, network
    raise UnknownNameError("captioner", name, (GIVEN, *CAPTIONERS), where=where)


def check_folder(family: str, path: str, folder: Path | None) -> Path | None:
    """Return the folder of a model at `path`, perhaps below `folder`; None if `path` is empty."""
    require("transformers", "attributes")
    if not path:
        return None
    about = FAMILIES[family]
    places = [Path(path).expanduser(), *([folder / path] if folder else [])]
    home = next(filter(Path.is_dir, places), None)
    if home is None:
        raise BackboneError(
            f"there is no folder {path!r} for {family}",
            where=", ".join(map(str, places)),
            expected=_expected(family),
            fix=_by_hand(family),
        )
    kind = _json(home / CONFIG).get("model_type") if (home / CONFIG).is_file() else about.kind
    if kind != about.kind:
        raise BackboneError(
            f"the folder for {family} holds a model of type {kind!r}",
            where=str(home / CONFIG),
            expected=f"model_type {about.kind!r}",
        )
    needed: list[tuple[str, ...]] = [(CONFIG,), (PREPROCESSOR,), WEIGHTS]
    if not all((home / file).is_file() for file in about.vocabulary):
        needed.append((TOKENIZER,))
    missing = [" or ".join(names) for names in needed if not first_of(home, names).is_file()]
    if missing:
        raise BackboneError(
            f"the folder for {family} has no {', '.join(missing)}",
            where=str(home),
            expected=_expected(family),
            fix=f"hf download {about.hub} --local-dir {home}",
        )
    return home


class _Size(Struct):
    height: int
    width: int


class _Preprocessor(Struct):
    """The fields of a ``preprocessor_config.json``."""

    size: _Size | int
    image_mean: tuple[float, float, float]
    image_std: tuple[float, float, float]
    resample: Literal[2, 3] = 2
    rescale_factor: float = 1 / 255
    do_resize: bool = True
    do_normalize: bool = True
    do_rescale: bool = True
    do_center_crop: bool | None = None

    def __post_init__(self) -> None:
        whole = self.do_resize and self.do_normalize and self.do_rescale
        if not whole or self.do_center_crop or abs(self.rescale_factor * 255 - 1) > 1e-9:
            raise ValueError("a step is left out, or another than is known")


def preprocessing_of(path: Path) -> Preprocessing:
    """Read a ``preprocessor_config.json``; only squeezing pictures into a square is known."""
    try:
        config = convert(_json(path), _Preprocessor)
    except ValueError:
        raise BackboneError(
            "the preprocessing of the captioner is not known",
            where=str(path),
            expected="a size with height and width, resample 2 or 3, image_mean and image_std of "
            "three numbers, rescale_factor 1/255, no crop",
        ) from None
    side = config.size
    size = (side, side) if isinstance(side, int) else (side.height, side.width)
    kernel: Literal["bilinear", "bicubic"] = "bilinear" if config.resample == 2 else "bicubic"
    return Preprocessing(size, size, kernel, config.image_mean, config.image_std, side="both")


def folder_from_hub(family: str) -> tuple[Path, dict[str, str]]:
    """Fetch the authors' model; returns its folder in the Hub's cache, and its commit."""
    about, by_hand = FAMILIES[family], f"{family}@FOLDER"
    cached = partial(require("huggingface_hub").try_to_load_from_cache, repo_type="model")
    try:
        config, origin = hub_file(family, about.hub, (CONFIG,), by_hand)
        pinned = f"{about.hub}@{origin['revision']}"
        hub_file(family, pinned, (PREPROCESSOR,), by_hand)
        hub_file(family, pinned, WEIGHTS, by_hand)
        tokenizer, _ = hub_file(family, pinned, (TOKENIZER, about.vocabulary[0]), by_hand)
        for file in about.vocabulary[1:] if tokenizer.name != TOKENIZER else ():
            hub_file(family, pinned, (file,), by_hand)
        for file in OPTIONAL:
            if cached(about.hub, file, revision=origin["revision"]) is None:
                with suppress(HubNotFoundError):
                    fetch(about.hub, file, origin["revision"], repo_type="model")
    except BackboneError as error:
        raise error.with_advice(expected=_expected(family), fix=_by_hand(family)) from None
    except HubError as error:
        raise BackboneError(
            f"{family} may need a file that cannot be had: {error.what}",
            where=f"the Hub's repository {about.hub}",
            expected=file,
            fix=_by_hand(family),
        ) from None
    return config.parent, {"hub": about.hub, "revision": origin["revision"]}


def _by_hand(family: str) -> str:
    return (
        f"where there is a connection: hf download {FAMILIES[family].hub} --local-dir FOLDER; "
        f"then name it as {family}@FOLDER"
    )


def _expected(family: str) -> str:
    about = FAMILIES[family]
    return (
        f"a folder with {CONFIG}, {PREPROCESSOR}, {' or '.join(WEIGHTS)}, and {TOKENIZER} or "
        f"{', '.join(about.vocabulary)}, as {about.hub} has them"
    )


def first_of(home: Path, files: tuple[str, ...]) -> Path:
    """Return the first file that exists, or the first name if none does."""
    return next((home / file for file in files if (home / file).is_file()), home / files[0])


def _json(path: Path) -> dict[str, Any]:
    try:
        content = parsed_json(path.read_bytes())
    except (OSError, ValueError) as error:
        content = error
    if not isinstance(content, dict):
        raise BackboneError(f"{path.name} cannot be read", where=str(path), expected="JSON")
    return content


_SPECIAL = ("bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id")


@dataclass(frozen=True, eq=False)
class Captioner:
    """A network that writes captions, and its tokenizer.

    `weights` describes the origin and the SHA-256 of weights, `generation` how captions are made.
    """

    name: str
    preprocessing: Preprocessing
    weights: Mapping[str, Any]
    generation: Mapping[str, Any]
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)

    def describe(self) -> dict[str, Any]:
        """Return the captioner's part of the provenance of captions."""
        return {
            "captioner": self.name,
            "weights": dict(self.weights),
            "generation": dict(self.generation),
            "preprocessing": self.preprocessing.describe(),
            "dtype": "float32",
        }

    def captions(self, batch: Any) -> list[str]:
        """Write a caption for each picture of a batch (B, 3, H, W)."""
        torch, transformers = require("torch"), require("transformers", "attributes")
        inputs = {"pixel_values": batch.to(self.model.device)}
        if prompt := self.generation.get("prompt"):
            ids = self.tokenizer(prompt, return_tensors="pt").input_ids.repeat(len(batch), 1)
            inputs["input_ids"] = ids.to(self.model.device)
        with torch.no_grad(), _quiet(transformers):
            tokens = self.model.generate(**inputs)
            captions = self.tokenizer.batch_decode(tokens[:, 1:], skip_special_tokens=True)
        return [plain(caption) for caption in captions]


def plain(caption: str) -> str:
    """Put a caption on one line, with blanks instead of characters that cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in caption).split())


def load_captioner(family: str, path: str, folder: Path | None, device: Device) -> Captioner:
    """Load a captioner from the folder at `path`, or from the Hub if `path` is empty."""
    transformers, about = require("transformers", "attributes"), FAMILIES[family]
    local = check_folder(family, path, folder)
    name = f"{family}@{local.resolve().name}" if local else family
    home, origin = (local, {"folder": local.resolve().name}) if local else folder_from_hub(family)
    with loading(name, home / CONFIG), _quiet(transformers):
        model, loading_info = getattr(transformers, about.model).from_pretrained(
            home, local_files_only=True, output_loading_info=True, dtype="float32"
        )
        tokenizer = getattr(transformers, about.tokenizer).from_pretrained(
            home, local_files_only=True
        )
    _check_whole(name, home, loading_info)
    generator = model.text_decoder if about.kind == "blip" else model
    special = {key: getattr(model.generation_config, key) for key in _SPECIAL}
    generation = {**about.generation, "do_sample": False}
    generator.generation_config = transformers.GenerationConfig(**special, **generation)
    weights = {
        **origin,
        "file": first_of(home, WEIGHTS).name,
        "sha256": sha256_of(first_of(home, WEIGHTS)),
        **{
            f"{Path(file).stem}_sha256": sha256_of(home / file)
            for file in (CONFIG, PREPROCESSOR, TOKENIZER, *about.vocabulary, *OPTIONAL)
            if (home / file).is_file()
        },
    }
    return Captioner(
        name,
        preprocessing_of(home / PREPROCESSOR),
        weights,
        {"search": "beams", **({"prompt": about.prompt} if about.prompt else {}), **generation},
        model.eval().to(device),
        tokenizer,
    )


def _check_whole(name: str, home: Path, loading_info: Mapping[str, Any]) -> None:
    """Refuse weights that leave part of the network random, except for the unused pooler."""
    missing = [key for key in sorted(loading_info["missing_keys"]) if ".pooler." not in key]
    misshapen = sorted(map(str, loading_info.get("mismatched_keys", ())))
    if missing or misshapen:
        raise BackboneError(
            f"{name}: the weights do not fit: {len(missing)} are missing, {len(misshapen)} of "
            f"another shape, such as {(missing + misshapen)[0]}",
            where=str(home),
            expected="the weights of the network that config.json describes",
            fix="get the folder again",
        )


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Silence transformers, its progress bars included."""
    log = transformers.utils.logging
    before, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(before)
        if bars:
            log.enable_progress_bar()
