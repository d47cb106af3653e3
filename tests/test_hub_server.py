"""The local Hub of the tests, driven by the real clients."""

from __future__ import annotations

import io
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import Fault, HubError, HubServer

if TYPE_CHECKING:
    from huggingface_hub import HfApi


# uploads hand a file to httpx in its old way
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
retries = pytest.mark.skipif(
    version("huggingface_hub").startswith(("0.", "1.")), reason="older clients try again less often"
)

REPO = "org/data"
DATASET: dict[str, Any] = {"repo_id": REPO, "repo_type": "dataset"}
TABLE = "tables/cub.parquet"
CARD = b"---\nlicense: cc0-1.0\ntags:\n- few-shot\n---\n# Data\n"


def parquet(values: list[int]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"x": values}), out)
    return out.getvalue()


FILES = {"README.md": CARD, "a/b/notes.txt": b"notes", TABLE: parquet(list(range(1000)))}


@pytest.fixture
def data(hub: HubServer) -> HubServer:
    """A server that holds `org/data`, tagged v1."""
    hub.create_repo(REPO, files=FILES)
    hub.tag(REPO, "v1")
    return hub


@pytest.fixture
def api(hub: HubServer) -> HfApi:
    from huggingface_hub import HfApi

    return HfApi()


def add(path: str, content: bytes) -> Any:
    from huggingface_hub import CommitOperationAdd

    return CommitOperationAdd(path, content)


def delete(path: str) -> Any:
    from huggingface_hub import CommitOperationDelete

    return CommitOperationDelete(path)


def status_of(error: pytest.ExceptionInfo[Any]) -> int:
    return int(error.value.response.status_code)


def test_only_what_changed_is_uploaded(hub: HubServer, api: HfApi) -> None:
    api.create_repo(**DATASET)

    def commit(**changes: bytes | None) -> Any:
        files = {**FILES, TABLE: changes.get("table", FILES[TABLE])}
        operations = [add(path, content) for path, content in files.items()]
        return api.create_commit(**DATASET, operations=operations, commit_message="Files")

    first = commit()
    assert {path: hub.read(REPO, path) for path in FILES} == FILES
    assert len(hub.seen("/upload/", "PUT")) == 1
    hub.requests.clear()
    assert commit().oid == first.oid == hub.sha(REPO)
    assert not hub.seen("/upload/|/commit/")
    second = commit(table=parquet([1]))
    assert len(hub.seen("/upload/", "PUT")) == 1
    assert second.oid != first.oid
    assert hub.read(REPO, TABLE) == parquet([1])
    assert hub.read(REPO, TABLE, first.oid) == FILES[TABLE]


def test_a_commit_on_an_old_parent(data: HubServer, api: HfApi) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    parent = data.sha(REPO)
    data.commit(REPO, {"b.txt": b"b"})
    change = {
        "operations": [add("c.txt", b"c")],
        "parent_commit": parent,
        "commit_message": "c",
    }
    with pytest.raises(HfHubHTTPError) as late:
        api.create_commit(**DATASET, **change)
    assert status_of(late) == 412
    pull = api.create_commit(**DATASET, **change, create_pr=True)
    assert "b.txt" not in data.files(REPO, str(pull.pr_revision))


def test_opened_by_somebody_else_and_merged(data: HubServer, api: HfApi) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    bob = HfApi(token=data.token("bob"))
    change: dict[str, Any] = {"operations": [add("s/1.parquet", parquet([1]))], **DATASET}
    with pytest.raises(HfHubHTTPError, match="create_pr") as direct:
        bob.create_commit(**change, commit_message="Mine")
    assert status_of(direct) == 403
    pull = bob.create_commit(
        **change, commit_message="Mine", commit_description="Look", create_pr=True
    )
    assert (pull.pr_num, pull.pr_revision) == (1, "refs/pr/1")
    assert "s/1.parquet" in data.files(REPO, "refs/pr/1")
    assert "s/1.parquet" not in data.files(REPO)
    refs = api.list_repo_refs(**DATASET, include_pull_requests=True).pull_requests
    assert [(ref.ref, ref.target_commit) for ref in refs or []] == [("refs/pr/1", pull.oid)]

    bob.create_commit(
        **DATASET,
        operations=[add("s/note.txt", b"hello")],
        revision="refs/pr/1",
        commit_message="And a note",
    )
    found = api.get_discussion_details(**DATASET, discussion_num=1)
    assert (found.title, found.author, found.status) == ("Mine", "bob", "open")
    assert found.conflicting_files == []
    assert [event.type for event in found.events] == ["comment", "commit", "commit"]
    assert data.comments(REPO, 1) == ["Look"]

    data.commit(REPO, {"b.txt": b"b"})
    api.comment_discussion(**DATASET, discussion_num=1, comment="Thanks")
    data.merge(REPO, 1)
    assert {"s/1.parquet", "s/note.txt", "b.txt"} <= set(data.files(REPO))
    found = api.get_discussion_details(**DATASET, discussion_num=1)
    assert (found.status, found.merge_commit_oid) == ("merged", data.sha(REPO))
    assert data.comments(REPO, 1) == ["Look", "Thanks"]


def test_conflicts_are_not_merged(data: HubServer, api: HfApi) -> None:
    change = [add(TABLE, parquet([1])), delete("a/b/notes.txt")]
    api.create_commit(**DATASET, operations=change, commit_message="One", create_pr=True)
    data.commit(REPO, {TABLE: parquet([2])})
    found = api.get_discussion_details(**DATASET, discussion_num=1)
    assert found.conflicting_files == [TABLE]
    with pytest.raises(HubError, match="conflicts"):
        data.merge(REPO, 1)
    data.commit(REPO, {TABLE: FILES[TABLE]})
    data.merge(REPO, 1)
    assert data.read(REPO, TABLE) == parquet([1])
    assert "a/b/notes.txt" not in data.files(REPO)


def test_private_repositories_are_hidden(hub: HubServer) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    hub.create_repo(REPO, private=True, files=FILES)
    for token, status in ((False, 401), (hub.token("bob"), 404)):
        other = HfApi(token=token)
        for look in (other.dataset_info, other.list_repo_refs):
            with pytest.raises(RepositoryNotFoundError) as hidden:
                look(REPO, **({} if look == other.dataset_info else {"repo_type": "dataset"}))
            assert status_of(hidden) == status
        with pytest.raises(RepositoryNotFoundError):
            other.hf_hub_download(**DATASET, filename=TABLE)
    reader = HfApi(token=hub.token("carol", read=("org",), read_only=True))
    assert Path(reader.hf_hub_download(**DATASET, filename=TABLE)).is_file()
    with pytest.raises(HfHubHTTPError) as wrong:
        HfApi(token="hf_wrong").dataset_info(REPO)
    assert status_of(wrong) == 401


def test_a_token_that_only_reads(data: HubServer) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    reader = HfApi(token=data.token("alice", write=("org",), read_only=True))
    change = {"operations": [add("a.txt", b"a")], "commit_message": "a"}
    for more in ({}, {"create_pr": True}):
        with pytest.raises(HfHubHTTPError) as refused:
            reader.create_commit(**DATASET, **change, **more)
        assert status_of(refused) == 403
    with pytest.raises(HfHubHTTPError) as refused:
        reader.create_tag(**DATASET, tag="v9")
    assert status_of(refused) == 403


def test_the_log_holds_no_token_and_storage_gets_none(data: HubServer, api: HfApi) -> None:
    api.hf_hub_download(**DATASET, filename=TABLE)
    assert {r.user for r in data.seen("^/(api|datasets)/")} == {"alice"}
    assert {r.user for r in data.seen("^/cdn/")} == {None}
    assert data.client_env["HF_TOKEN"] not in repr(data.requests)


def test_file_system(data: HubServer) -> None:
    from huggingface_hub import HfFileSystem

    files = HfFileSystem()
    assert files.ls(f"datasets/{REPO}@v1/tables", detail=False) == [f"datasets/{REPO}@v1/{TABLE}"]
    with files.open(f"datasets/{REPO}@v1/{TABLE}", block_size=2**10) as file:
        assert pq.read_table(file).column("x").to_pylist() == list(range(1000))
    ranges = [r for r in data.seen("/cdn/", "GET") if r.range]
    assert {r.status for r in ranges} == {206}


def test_ranges(data: HubServer) -> None:
    from huggingface_hub.utils import get_session

    address = f"{data.endpoint}/datasets/{REPO}/resolve/main/a/b/notes.txt"

    def get(wanted: str) -> tuple[int, bytes, str | None]:
        answer = get_session().get(address, headers={"Range": wanted})
        return answer.status_code, answer.content, answer.headers.get("Content-Range")

    assert get("bytes=1-2") == (206, b"ot", "bytes 1-2/5")
    assert get("bytes=3-") == (206, b"es", "bytes 3-4/5")
    assert get("bytes=-1") == (206, b"s", "bytes 4-4/5")
    assert get("bytes=0-99") == (206, b"notes", "bytes 0-4/5")
    assert get("bytes=5-")[::2] == (416, "bytes */5")
    assert get("lines=1-2") == (200, b"notes", None)


@retries
def test_a_cut_download_goes_on_where_it_ended(
    data: HubServer,
    api: HfApi,
    quick_retries: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the client keeps what it has got in steps of ten megabytes; here of a kilobyte
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    data.faults.add(Fault(r"resolve/.*cub\.parquet", "cut", method="GET", after=1500))
    path = api.hf_hub_download(**DATASET, filename=TABLE)
    assert Path(path).read_bytes() == FILES[TABLE]
    first, second = data.seen(TABLE, "GET")
    assert (first.status, first.sent) == (200, 1500)
    assert (second.status, second.range) == (206, "bytes=1024-")
    assert quick_retries == [1]


def test_how_often(data: HubServer) -> None:
    from huggingface_hub.utils import get_session

    data.faults.add(Fault("whoami", status=503, skip=1, times=2, retry_after=3))
    answers = [get_session().get(f"{data.endpoint}/api/whoami-v2") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401, 503, 503, 401]
    assert answers[1].headers["Retry-After"] == "3"
    assert data.faults.hits == [2]
