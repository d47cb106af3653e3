"""The report page as a static Space."""

from pathlib import Path

import pytest
from hub_server import HubServer

from benchmark_spec.errors import HubAccessError, HubError
from fslbench_data.render.page.space import TAG, push_space


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "index.html"
    path.write_text("<!DOCTYPE html><p>one</p>")
    return path


def test_a_page_becomes_a_space_and_is_written_over(hub: HubServer, page: Path) -> None:
    address = push_space(page, "org/results")
    assert address.endswith("/spaces/org/results")
    assert hub.read("org/results", "index.html", kind="space") == page.read_bytes()
    card = hub.read("org/results", "README.md", kind="space").decode()
    assert "sdk: static" in card
    assert TAG in card
    assert "made by `fslbench report`" in card
    page.write_text("<!DOCTYPE html><p>two</p>")
    assert push_space(page, "org/results") == address
    assert hub.read("org/results", "index.html", kind="space") == page.read_bytes()


def test_another_space_is_left_alone(hub: HubServer, page: Path) -> None:
    there = {"README.md": b"---\nsdk: gradio\n---\n", "app.py": b"print(1)\n"}
    hub.create_repo("org/app", kind="space", files=there)
    with pytest.raises(HubError, match="no page of results"):
        push_space(page, "org/app")
    for path, content in there.items():
        assert hub.read("org/app", path, kind="space") == content
    assert "index.html" not in hub.files("org/app", kind="space")
    hub.create_repo("org/bare", kind="space", files={"app.py": b""})
    with pytest.raises(HubError, match="no page of results"):
        push_space(page, "org/bare")


def test_where_one_may_not_write(hub: HubServer, page: Path) -> None:
    with pytest.raises(HubAccessError):
        push_space(page, "other/results")


def test_a_leaderboard_says_what_made_it(hub: HubServer, page: Path) -> None:
    push_space(page, "org/board", "leaderboard")
    assert hub.read("org/board", "index.html", kind="space") == page.read_bytes()
    card = hub.read("org/board", "README.md", kind="space").decode()
    assert "title: FSLBench leaderboard" in card
    assert "made by `fslbench leaderboard`" in card
    assert push_space(page, "org/board", "leaderboard").endswith("/spaces/org/board")
