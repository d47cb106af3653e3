"""Captions by tiny networks: the libraries' own as oracles, stopped runs, what is refused."""

import json
import shutil

import numpy as np
import pytest
from tiny_captioners import SIDE
from tiny_features import read_pictures, write_pictures

from benchmark_spec.errors import BackboneError, SourceError, UnknownNameError
from builders.attributes.captioners import FAMILIES, plain, preprocessing_of
from builders.attributes.captions import CaptionerName, write_captions
from builders.execution.engine import reproducible
from builders.features import Settings
from fslbench_data.files import sha256_of

for package in ("torch", "open_clip", "transformers"):
    pytest.importorskip(package, reason=f"needs {package}, of the extras `builders`, `attributes`")
import open_clip  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

NAMES = {"vit_gpt2@vit": "vit_gpt2", "blip@blip": "blip", "coca:tiny-coca/tiny.pt": "coca"}


@pytest.fixture(autouse=True)
def _one_thread():
    with reproducible(1):
        yield


def _settings(weights, batch=4, workers=0):
    return Settings(weights=weights, batch=batch, threads=1, workers=workers, block=10)


def _inputs(tiny, captioner, ids):
    make = captioner.preprocessing.reference
    return torch.stack([torch.from_numpy(make(tiny.open(i))) for i in ids])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_however_they_are_batched(name, tiny, captioners, tmp_path):
    found = [
        write_captions(tiny, name, tmp_path / "work", _settings(captioners, *how))
        for how in ((1, 0), (4, 0), (10, 1))
    ]
    texts, how = found[1]
    assert len(texts) == 24
    assert len(set(texts)) > 3  # they depend on the picture
    assert all(text == plain(text) for text in texts)
    assert all(other == texts for other, _ in found)
    assert how["captioner"] == name
    assert (how["batch"], how["block"], how["threads"], how["device"]) == (4, 10, 1, "cpu")
    file = captioners / name.split("@")[-1] / "model.safetensors"
    file = file if file.is_file() else captioners / "tiny.pt"
    assert how["weights"]["sha256"] == sha256_of(file)
    assert str(captioners) not in json.dumps(how)
    assert "torch" in how["packages"]
    assert ("transformers" in how["packages"]) == (NAMES[name] != "coca")
    assert not list(tmp_path.iterdir())


BLIP = "BlipForConditionalGeneration"


@pytest.mark.parametrize(
    ("name", "model", "options", "prompt"),
    [
        ("vit_gpt2@vit", "VisionEncoderDecoderModel", {"num_beams": 4, "max_length": 16}, ""),
        ("blip@blip", BLIP, {"num_beams": 3, "max_new_tokens": 20, "min_new_tokens": 5}, ""),
        ("blip_large@blip", BLIP, {"num_beams": 1, "max_length": 20}, "there"),
    ],
)
def test_transformers_says_the_same(name, model, options, prompt, tiny, captioners):
    captioner = CaptionerName(name, captioners).load()
    folder, batch = captioners / name.partition("@")[2], _inputs(tiny, captioner, range(6))
    network = getattr(transformers, model).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if prompt:
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        options = {**options, "input_ids": ids.repeat(len(batch), 1)}
    tokens = network.generate(pixel_values=batch, do_sample=False, **options)
    expected = [plain(tokenizer.decode(of[1:], skip_special_tokens=True)) for of in tokens]
    assert captioner.captions(batch) == expected


@pytest.mark.slow
def test_coca_is_searched_greedily(tiny, captioners):
    """A literal search, picture by picture, on the network's own forward pass."""
    captioner = CaptionerName("coca:tiny-coca/tiny.pt", captioners).load()
    batch = _inputs(tiny, captioner, range(4))
    start, end = 49406, 49407
    model = open_clip.create_model("tiny-coca", pretrained=str(captioners / "tiny.pt")).eval()
    for picture, found in zip(batch, captioner.tokens(batch), strict=True):
        text = [start]
        while len(text) < 30 and (len(text) == 1 or text[-1] not in (end, 0)):
            with torch.no_grad():
                said = model(picture[None], torch.tensor([text]), output_labels=False)
            logits = said["logits"][0, -1].clone()
            if len(text) < 5:
                logits[end] = -torch.inf
            text.append(int(logits.argmax()))
        assert found[: len(text)] == text
        assert set(found[len(text) :]) <= {0}


def test_coca_ends_at_the_end(tiny, captioners):
    captioner = CaptionerName("coca:tiny-coca/tiny.pt", captioners).load()
    batch = _inputs(tiny, captioner, range(2))

    def network(image, text=None, **_):
        if text is None:
            return {"image_features": image, "image_embs": image}
        logits = torch.zeros(*text.shape, 49408)
        logits[..., 49407], logits[..., 320] = 2, 1  # the end, else "a"
        return {"logits": logits}

    network.pad_id, network.logit_scale = 0, torch.ones(())
    object.__setattr__(captioner, "model", network)
    assert captioner.tokens(batch) == [[49406, 320, 320, 320, 320, 49407]] * 2
    assert captioner.captions(batch) == ["a a a a"] * 2


def test_an_image_that_cannot_be_shown(captioners, pictures, tmp_path):
    shutil.copytree(pictures, tmp_path / "raw")
    images = read_pictures(tmp_path / "raw")
    (tmp_path / "raw" / images.images.column("path")[13].as_py()).write_bytes(b"no picture")
    with pytest.raises(SourceError, match="13"):
        write_captions(images, "blip@blip", tmp_path / "work", _settings(captioners))


def test_pictures_are_prepared_as_transformers_does(captioners, tiny):
    for folder, kind in (("vit", "ViTImageProcessorPil"), ("blip", "BlipImageProcessorPil")):
        processor = getattr(transformers, kind, None)
        if processor is None:
            pytest.skip(f"this version of transformers has no {kind}")
        how = preprocessing_of(captioners / folder / "preprocessor_config.json")
        make = processor.from_pretrained(captioners / folder)
        for image_id in range(4):
            picture = tiny.open(image_id)
            expected = make(images=picture, return_tensors="np")["pixel_values"][0]
            assert expected.shape == (3, SIDE, SIDE)
            np.testing.assert_allclose(how.reference(picture), expected, atol=2e-6)


OTHERS = {"size": {"shortest_edge": 32}, "do_center_crop": True, "resample": 1}
OTHERS |= {"rescale_factor": 1.0, "image_mean": None, "do_normalize": False}


@pytest.mark.parametrize("name", OTHERS)
def test_other_preprocessing_is_refused(name, captioners, tmp_path):
    content = json.loads((captioners / "vit/preprocessor_config.json").read_text())
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps({**content, name: OTHERS[name]}))
    with pytest.raises(BackboneError, match="preprocessing of the captioner is not known"):
        preprocessing_of(path)
    path.write_text(json.dumps({**content, "size": 32}))
    assert preprocessing_of(path).crop == (32, 32)


def test_a_folder_that_lacks_a_file_or_holds_another_model(captioners, tmp_path):
    said = r"there is no folder 'nowhere' for blip(.|\n)*hf download Salesforce/blip-image-capt"
    with pytest.raises(BackboneError, match=said):
        CaptionerName("blip@nowhere", captioners).check()
    folder = tmp_path / "blip"
    shutil.copytree(captioners / "blip", folder)
    CaptionerName("blip@blip", tmp_path).check()
    with pytest.raises(BackboneError, match=r"model of type 'blip'(.|\n)*vision-encoder-decoder"):
        CaptionerName(f"vit_gpt2@{captioners / 'blip'}", None).check()
    state = load_file(folder / "model.safetensors")
    gone = next(key for key in sorted(state) if "crossattention" in key)
    del state[gone]
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BackboneError, match=f"1 are missing(.|\n)*{gone}"):  # at random
        CaptionerName("blip@blip", tmp_path).load()
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(BackboneError, match="cannot be made of"):
        CaptionerName("blip@blip", tmp_path).load()
    for file, said in (("model.safetensors", "model.safetensors or pytorch"), ("vocab.txt", "tok")):
        (folder / file).unlink()
        with pytest.raises(BackboneError, match=f"has no (.*, )?{said}"):
            CaptionerName("blip@blip", tmp_path).check()


def test_what_is_no_coca(captioners):
    CaptionerName("coca:tiny-coca/tiny.pt", captioners).check()
    CaptionerName("coca", None).check()  # what is to come from the Hub is not asked for
    tags = r"weights(.|\n)*mscoco_finetuned(.|\n)*coca:coca_Vi"
    for name, error, said in (
        ("coca_ViT-X/tag", UnknownNameError, r"'coca_ViT-X'(.|\n)*coca_ViT-L-14"),
        ("ViT-B-32/openai", BackboneError, "ViT-B-32 writes no captions"),
        ("coca_ViT-L-14/nothing", UnknownNameError, tags),
    ):
        with pytest.raises(error, match=said):
            CaptionerName(f"coca:{name}", captioners).check()


@pytest.mark.parametrize("family", FAMILIES)
def test_from_the_hub(family, hub, captioners, tmp_path):
    tiny = read_pictures(write_pictures(tmp_path / "few", 1))
    repo = FAMILIES[family].hub
    hub.create_repo(repo, "model")
    folder = captioners / ("vit" if family == "vit_gpt2" else "blip")
    hub.commit(repo, {p.name: p.read_bytes() for p in folder.iterdir()}, kind="model")
    from_hub, how = write_captions(tiny, family, tmp_path / "work", _settings(captioners))
    local, of = write_captions(tiny, f"{family}@{folder}", tmp_path / "work", _settings(captioners))
    assert from_hub == local
    assert how["weights"]["sha256"] == of["weights"]["sha256"]
    assert how["weights"]["hub"] == repo
    assert how["weights"]["revision"] == hub.sha(repo, kind="model")
    with hub.offline():
        assert write_captions(tiny, family, tmp_path / "work", _settings(captioners))[0] == local


@pytest.mark.parametrize("name", ["vit_gpt2", "blip", "coca"])
def test_without_a_connection_what_to_provide_is_named(name, hub):
    with hub.offline(), pytest.raises(BackboneError, match="HF_HUB_OFFLINE") as error:
        CaptionerName(name).load()
    assert "hf download" in error.value.fix
    assert ("coca:coca_ViT-L-14/FILE" if name == "coca" else f"{name}@FOLDER") in error.value.fix
