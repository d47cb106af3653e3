"""Captioners so small that they fit a test, randomly initialised, as folders of transformers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORDS = (
    "a", "the", "red", "blue", "small", "dog", "cats", "bird", "house", "on", "near", "with", "and",
)  # fmt: skip
SIDE = 32

WORDS_OF_CLIP = {"context_length": 76, "vocab_size": 49408, "width": 16, "heads": 1, "layers": 1}
PICTURES_OF_CLIP = {"image_size": SIDE, "layers": 1, "width": 32, "patch_size": 8, "head_width": 16}
POOLED = {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True}
COCA = {
    "embed_dim": 16,
    "vision_cfg": PICTURES_OF_CLIP | POOLED,
    "text_cfg": {**WORDS_OF_CLIP, "embed_cls": True, "output_tokens": True},
    "multimodal_cfg": {**WORDS_OF_CLIP, "attn_pooler_heads": 2},
    "custom_text": True,
}
"""With open_clip's own vocabulary: 1.6 million numbers."""

LAYERS = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "initializer_range": 0.3,
}
PICTURES = {**LAYERS, "image_size": SIDE, "patch_size": 16}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def write_vit_gpt2(folder: Path) -> Path:
    """ViT and GPT-2 of one layer each, whose vocabulary is a dozen words, each with its blank."""
    import transformers

    tokens = [f"Ġ{word}" for word in WORDS]
    end = len(tokens)
    vocabulary = {token: i for i, token in enumerate([*tokens, "<|endoftext|>"])}
    layers = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 32, "initializer_range": 0.3}
    ends = {"vocab_size": end + 1, "bos_token_id": end, "eos_token_id": end}
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(**PICTURES), transformers.GPT2Config(**layers, **ends)
    )
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = end
    with seeded(1):
        model = transformers.VisionEncoderDecoderModel(config)
    model.save_pretrained(folder)
    transformers.GPT2TokenizerFast(vocab=vocabulary, merges=[]).save_pretrained(folder)
    _preprocessor(folder, mean=[0.5] * 3, std=[0.5] * 3, resample=2)
    return folder


def write_blip(folder: Path) -> Path:
    """BLIP of one layer each, whose vocabulary is a dozen words."""
    import transformers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "[DEC]", "[ENC]"]
    projection = {"projection_dim": 8}
    sizes = {"vocab_size": len(words), "encoder_hidden_size": 32, "max_position_embeddings": 32}
    ends = {"bos_token_id": len(words) - 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    config = transformers.BlipConfig(
        text_config=LAYERS | projection | sizes | ends,
        vision_config=PICTURES | projection,
        image_text_hidden_size=8,
        **projection,
    )
    with seeded(2):
        model = transformers.BlipForConditionalGeneration(config)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    _preprocessor(folder, mean=[0.48, 0.46, 0.41], std=[0.27, 0.26, 0.28], resample=3)
    return folder


def write_coca(folder: Path) -> Path:
    """A checkpoint of the architecture ``tiny-coca``, which open_clip then knows."""
    import open_clip
    import torch

    config = folder / "tiny-coca.json"
    config.write_text(json.dumps(COCA))
    open_clip.add_model_config(config)
    with seeded(3):
        model = open_clip.create_model("tiny-coca")
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    path = folder / "tiny.pt"
    torch.save(model.state_dict(), path)
    return path


def _preprocessor(folder: Path, mean: list[float], std: list[float], resample: int) -> None:
    numbers = {"image_mean": mean, "image_std": std, "resample": resample}
    size = {"rescale_factor": 1 / 255, "do_resize": True, "size": {"height": SIDE, "width": SIDE}}
    (folder / "preprocessor_config.json").write_text(json.dumps(numbers | size))
