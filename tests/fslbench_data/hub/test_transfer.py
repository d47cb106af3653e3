"""Xet on, off and broken: uploads and downloads with the real client, and where it falls back."""

import os
import re
import warnings
from pathlib import Path

import huggingface_hub
import pytest
from hub_server import Fault, use_xet
from huggingface_hub import constants
from tiny_features import ABOUT, build_pictures

from benchmark_spec.errors import FSLBenchWarning, HubAccessError, HubUnreachableError, HubXetError
from builders.hub.publish import publish
from fslbench_data.files import sha256_of
from fslbench_data.hub import fetch, hub_errors, transferred
from fslbench_data.release.release import load_release

pytest.importorskip("hf_xet", reason="needs hf_xet, which huggingface_hub brings on most machines")

REPO = "org/pictures"
TABLE = "tasks/open-2w1s2q/cats.parquet"
MODERN = int(huggingface_hub.__version__.split(".")[0]) >= 2
"""Whether the Hub's client uploads by xet without asking the Hub what to upload by."""

FELL_BACK = r"xet, the Hub's storage of large files, fails: .*; files go by HTTP now, as always"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    how = {"suites": ("open",), "protocols": ("2w1s1q",), "pictures": "files"}
    about = ABOUT | {"redistribution": "images"}
    return build_pictures(tmp_path_factory.mktemp("pictures"), 6, **how, options=about)


def _check_picture(rows):
    from PIL import Image

    assert isinstance(rows[7]["image"], Image.Image)
    assert rows.features["label"].int2str(rows[7]["label"]) == "class_1"


@pytest.mark.parametrize("client", ["xet", "http"])
@pytest.mark.parametrize("server", ["on", "off"])
def test_pictures_are_published_and_loaded_with_xet_and_without(
    client, server, hub, pictures, monkeypatch
):
    import datasets

    if client == "xet":
        use_xet(hub, monkeypatch)
    hub.xet = server
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        publish(pictures, REPO)
    said = [str(w.message) for w in caught if w.category is FSLBenchWarning]
    if (client, server) == ("xet", "off") and MODERN:
        assert re.match(FELL_BACK, *said)
    else:
        assert not said
    by_xet = (client, server) == ("xet", "on")
    assert len(hub.seen(method="PUT")) == (0 if by_xet else 4)
    assert bool(hub.seen("xet-read-token")) == by_xet
    hub.requests.clear()
    _check_picture(datasets.load_dataset(REPO, "pictures-tiny", split="tiny", revision="v1.0.0"))
    assert bool(hub.seen("^/cdn/.*pictures", "GET")) != by_xet
    _check_picture(load_release(f"{REPO}@v1.0.0").load_dataset("pictures-tiny", "tiny"))


@pytest.fixture
def broken(hub, toy, monkeypatch):
    use_xet(hub, monkeypatch)
    hub.create_repo("org/toy", files=Path(toy.files.where))
    hub.tag("org/toy", "v1.0.0")
    hub.xet = "broken"
    return hub


def test_a_download_falls_back_once_and_says_so(broken, toy):
    with pytest.warns(FSLBenchWarning, match=FELL_BACK) as caught:
        path = fetch("org/toy", TABLE, "v1.0.0")
    assert len([w for w in caught if w.category is FSLBenchWarning]) == 1
    assert sha256_of(path) == sha256_of(Path(toy.files.where) / TABLE)
    assert constants.HF_HUB_DISABLE_XET
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fetch("org/toy", TABLE.replace("cats", "dogs"), "v1.0.0")


def test_datasets_fall_back(broken):
    release = load_release("org/toy@v1.0.0")
    with pytest.warns(FSLBenchWarning, match=FELL_BACK):
        rows = release.load_dataset("tasks-open-2w1s2q", "cats")
    assert len(rows) == 4


def test_what_fails_by_http_too_is_told_as_ever(broken, quick_retries, monkeypatch):
    monkeypatch.setattr("fslbench_data.hub._PAUSE", 0.01)
    broken.faults.add(Fault("/cdn/", status=503, times=None))
    with (
        pytest.warns(FSLBenchWarning, match=FELL_BACK),
        pytest.raises(HubUnreachableError, match="answered 503 each time") as caught,
    ):
        fetch("org/toy", TABLE, "v1.0.0")
    assert not isinstance(caught.value, HubXetError)


def _upload(token):
    from huggingface_hub import CommitOperationAdd, HfApi

    def commit():
        new = CommitOperationAdd("new.parquet", b"PAR1\0" * 100)
        about = {"commit_message": "More", "repo_type": "dataset"}
        return HfApi(token=token).create_commit("org/toy", [new], **about)

    transferred("uploading", "org/toy", commit)


def test_an_upload_falls_back(broken):
    with pytest.warns(FSLBenchWarning, match=FELL_BACK):
        _upload(None)
    assert broken.read("org/toy", "new.parquet") == b"PAR1\0" * 100


def test_what_xet_raises_is_an_error_of_this_package(broken):
    from huggingface_hub import hf_hub_download

    said = r"fails: .*401 Unauthorized"
    with pytest.raises(HubXetError, match=said) as caught, hub_errors("fetching it", "org/toy"):
        hf_hub_download("org/toy", TABLE, repo_type="dataset")
    assert caught.value.where == "org/toy, fetching it"
    assert "HF_HUB_DISABLE_XET=1" in caught.value.fix
    assert "hf_" not in caught.value.what.lower()


def test_a_token_that_xet_does_not_get(hub, toy, monkeypatch):
    use_xet(hub, monkeypatch)
    hub.xet = "on"
    hub.create_repo("org/toy")
    with pytest.raises(HubAccessError):
        _upload(hub.token("bob", read=("org",), read_only=True))


def test_xet_is_not_waited_for_long(monkeypatch):
    name = "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS"
    monkeypatch.setenv(name, "7")
    assert transferred("looking", "org/toy", lambda: os.environ[name]) == "7"
    monkeypatch.delenv(name)
    assert transferred("looking", "org/toy", lambda: os.environ[name]) == "3"
