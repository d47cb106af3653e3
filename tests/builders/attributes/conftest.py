"""A folder of small pictures, and captioners so small that they fit a test."""

import pytest
from tiny_features import read_pictures, write_pictures


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """24 pictures in 4 classes."""
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    return write_pictures(tmp_path_factory.mktemp("pictures"), 6)


@pytest.fixture(scope="session")
def tiny(pictures):
    return read_pictures(pictures)


@pytest.fixture(scope="session")
def captioners(tmp_path_factory):
    pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
    pytest.importorskip("open_clip", reason="needs open_clip, of the extra `builders`")
    pytest.importorskip("transformers", reason="needs transformers, of the extra `attributes`")
    from tiny_captioners import write_blip, write_coca, write_vit_gpt2

    folder = tmp_path_factory.mktemp("captioners")
    for name, write in (("vit", write_vit_gpt2), ("blip", write_blip)):
        (folder / name).mkdir()
        write(folder / name)
    write_coca(folder)
    return folder
