"""The one way in which image files are read: modes, bits, orientation, formats, damage."""

import io
import struct
import subprocess
import zlib
from unittest.mock import Mock

import numpy as np
import pytest

from benchmark_spec.errors import RefusedPictureError, SourceError
from fslbench_data import pictures
from fslbench_data.pictures import decode, formats, rgb

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `report`")

COLOURS = np.random.Generator(np.random.PCG64(0)).integers(0, 256, (6, 8, 3), dtype=np.uint8)
RAMP = np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"


def _file(picture, form="PNG", **options):
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "mode", ["1", "L", "P", "LA", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV"]
)
def test_modes_of_8_bits_are_as_pillow_converts_them(mode):
    picture = Image.fromarray(COLOURS).convert("LA" if mode == "LA" else "RGB").convert(mode)
    assert rgb(picture).mode == "RGB"
    assert rgb(picture).tobytes() == picture.convert("RGB").tobytes()


@pytest.mark.parametrize("mode", ["La", "RGBa"])
def test_colours_that_hold_their_opacity_already(mode):
    """Grey 100 at opacity 128 over white is 177 or 178, by rounding."""
    plain = Image.new(mode.upper(), (1, 1), (100, 128) if mode == "La" else (100, 100, 100, 128))
    assert set(rgb(plain.convert(mode)).getpixel((0, 0))) <= {177, 178}


def test_lab_is_a_colour():
    red = Image.new("RGB", (2, 2), (200, 30, 40))
    off = np.asarray(decode(_file(red.convert("LAB"), "TIFF"))).astype(int) - np.asarray(red)
    assert abs(off).max() <= 3


@pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM", "JPEG2000"])
def test_of_16_bits_the_high_byte_is_kept(form):
    if form not in formats():
        pytest.skip(f"this Pillow reads no {form}")
    assert (np.asarray(decode(_file(Image.fromarray(RAMP), form))) == (RAMP >> 8)[..., None]).all()


@pytest.mark.parametrize(("mode", "kind"), [("I;16", "<u2"), ("I;16L", "<u2"), ("I;16B", ">u2")])
def test_whatever_the_order_of_the_bytes(mode, kind):
    picture = Image.frombytes(mode, RAMP.shape, RAMP.astype(kind).tobytes())
    assert (np.asarray(rgb(picture)) == (RAMP >> 8)[..., None]).all()


def test_floats_go_from_0_to_1_and_a_dark_picture_stays_dark():
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    picture = Image.fromarray((levels / 255).astype(np.float32))
    assert (np.asarray(decode(_file(picture, "TIFF"))) == levels[..., None]).all()
    assert np.asarray(decode(_file(Image.fromarray((RAMP // 256).astype(np.uint16))))).max() == 0
    faint = Image.fromarray((RAMP / 655350).astype(np.float32))
    assert np.asarray(decode(_file(faint, "TIFF"))).max() == 26  # 25.5, to the even


@pytest.mark.parametrize("value", [1.01, -0.01, np.nan, np.inf, np.int32(65536), np.int32(-1)])
def test_values_whose_white_nobody_knows_are_refused(value):
    array = np.zeros((4, 4), np.int32 if isinstance(value, np.int32) else np.float32)
    array[2, 3] = value
    said = "mode (F outside 0 to 1|I outside 0 to 65535)"
    with pytest.raises(RefusedPictureError, match=rf"values of {said}\n(.|\n)*fix: decide"):
        decode(_file(Image.fromarray(array), "TIFF"))


@pytest.mark.parametrize("form", ["JPEG", "MPO", "PNG", "TIFF", "WEBP", "AVIF"])
@pytest.mark.parametrize("orientation", [1, 2, 3, 4, 5, 6, 7, 8])
def test_orientation_is_applied_as_datasets_does(form, orientation):
    datasets = pytest.importorskip("datasets")
    if form == "AVIF" and form not in formats():
        pytest.skip("this Pillow reads no AVIF")
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = orientation
    data = _file(Image.fromarray(COLOURS).resize((48, 32)), form, exif=exif)
    theirs = datasets.Image().decode_example({"path": None, "bytes": data})
    assert decode(data).size == ((48, 32) if orientation < 5 else (32, 48))
    assert decode(data).tobytes() == theirs.convert("RGB").tobytes()
    assert decode(data, longest=24).size == ((24, 16) if orientation < 5 else (16, 24))


def test_orientation_and_transparency_of_16_bits():
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = 6  # to be turned a quarter to the right
    data = _file(Image.fromarray(RAMP[:8]), exif=exif)
    assert (np.asarray(decode(data))[..., 0] == np.rot90(RAMP[:8] >> 8, -1)).all()
    data = _file(Image.fromarray(np.array([[30000, 40000]], np.uint16)), transparency=30000)
    assert np.asarray(decode(data))[..., 0].tolist() == [[255, 40000 >> 8]]


def test_formats_go_by_the_content_and_start_no_program(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess.Popen, "__init__", None)  # which no program starts without
    (tmp_path / "a.png").write_bytes(_file(Image.fromarray(COLOURS), "BMP"))
    assert decode(tmp_path / "a.png").tobytes() == COLOURS.tobytes()
    (tmp_path / "b.png").write_bytes(EPS)
    with pytest.raises(SourceError, match=r"b\.png cannot be read as a picture: no image of a kn"):
        decode(tmp_path / "b.png", "b.png")
    for form in ("ICO", "TGA", "PCX", "PDF", "EPS"):
        with pytest.raises(SourceError, match="no image of a known format"):
            decode(_file(Image.fromarray(COLOURS), form))
    with pytest.raises(SourceError, match=r"^No such file"):
        decode(tmp_path / "none.png")


def test_a_pillow_without_avif_says_what_it_reads(monkeypatch):
    monkeypatch.setattr("PIL.features.check", lambda feature: feature != "avif")
    formats.cache_clear()
    try:
        with pytest.raises(SourceError, match="expected: one of BMP, GIF, JPEG"):
            decode(b"\0\0\0 ftypavif\0\0\0\0avifmif1miafMA1B")
    finally:
        formats.cache_clear()


@pytest.mark.parametrize("form", ["GIF", "PNG", "TIFF", "WEBP"])
def test_of_several_frames_the_first_is_shown(form):
    frames = [Image.new("RGB", (5, 4), colour) for colour in ("white", "black", "red")]
    more = {"lossless": True} if form == "WEBP" else {}
    data = _file(frames[0], form, save_all=True, append_images=frames[1:], **more)
    assert decode(data).getextrema() == ((255, 255),) * 3


def test_too_many_pixels_are_refused_before_they_are_decoded():
    def chunk(kind, content):
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    for side, said in ((13_300, "13300 x 13300 pixels, more than 175,000,000"), (60_000, "bomb")):
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
        data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
        with pytest.raises(RefusedPictureError, match=said):
            decode(data)


@pytest.mark.parametrize("error", [KeyError(7), zlib.error("bad"), EOFError()])
def test_whatever_pillow_raises_is_an_error_of_this_package(error, monkeypatch):
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", Mock(side_effect=error))
    with pytest.raises(SourceError, match=r"^picture 7 cannot be read as a picture: .+"):
        decode(_file(Image.fromarray(COLOURS)), "picture 7")
