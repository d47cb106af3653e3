"""The local Hub of the tests, driven by the real clients."""

from __future__ import annotations

import hashlib
import io
import socket
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import Fault, HubServer
from hub_server.server import bound_socket

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from fslbench_data.release.release import Release

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


class TestRepositories:
    def test_create(self, hub: HubServer, api: HfApi) -> None:
        from huggingface_hub.errors import HfHubHTTPError

        assert api.whoami()["name"] == "alice"
        url = api.create_repo(**DATASET)
        assert (url.repo_id, url.repo_type) == (REPO, "dataset")
        assert url == api.create_repo(**DATASET, exist_ok=True)
        with pytest.raises(HfHubHTTPError) as taken:
            api.create_repo(**DATASET)
        with pytest.raises(HfHubHTTPError, match="rights") as foreign:
            api.create_repo("other/data", repo_type="dataset")
        assert (status_of(taken), status_of(foreign)) == (409, 403)
        assert hub.files(REPO) == [".gitattributes"]
        assert api.repo_exists(**DATASET)
        assert not api.repo_exists("org/none", repo_type="dataset")

    def test_info(self, data: HubServer, api: HfApi) -> None:
        info = api.dataset_info(REPO, revision="v1", files_metadata=True)
        assert info.sha == data.sha(REPO) == api.dataset_info(REPO, revision=data.sha(REPO)).sha
        assert info.card_data is not None
        assert info.card_data["license"] == "cc0-1.0"
        assert info.tags == ["few-shot", "license:cc0-1.0"]
        found = {s.rfilename: s for s in info.siblings or []}
        assert found.keys() == {".gitattributes", *FILES}
        assert found[TABLE].size == len(FILES[TABLE])
        assert found[TABLE].lfs is not None
        assert found[TABLE].lfs.sha256 == hashlib.sha256(FILES[TABLE]).hexdigest()
        assert found["README.md"].lfs is None

    def test_trees(self, data: HubServer, api: HfApi) -> None:
        data.commit(REPO, {"a/more.txt": b"more"}, title="More")
        data.page_size = 2
        flat = [entry.path for entry in api.list_repo_tree(**DATASET)]
        assert flat == [".gitattributes", "README.md", "a", "tables"]
        deep = list(api.list_repo_tree(**DATASET, path_in_repo="a", recursive=True, expand=True))
        assert [entry.path for entry in deep] == ["a/b", "a/b/notes.txt", "a/more.txt"]
        assert [entry.last_commit.title for entry in deep] == ["Change files"] * 2 + ["More"]
        assert len(data.seen("/tree/", "GET")) == 4
        info = api.get_paths_info(**DATASET, paths=["a", TABLE, "none"])
        assert [entry.path for entry in info] == ["a", TABLE]
        titles = [commit.title for commit in api.list_repo_commits(**DATASET)]
        assert titles == ["More", "Change files", "initial commit"]

    def test_tags_and_branches(self, data: HubServer, api: HfApi) -> None:
        from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError

        old = data.sha(REPO)
        data.commit(REPO, {"b.txt": b"b"})
        api.create_tag(**DATASET, tag="v2", tag_message="The second")
        api.create_tag(**DATASET, tag="v2", exist_ok=True)
        with pytest.raises(HfHubHTTPError) as taken:
            api.create_tag(**DATASET, tag="v2")
        assert status_of(taken) == 409
        api.create_branch(**DATASET, branch="next", revision="v1")
        api.create_commit(
            **DATASET, operations=[add("c.txt", b"c")], revision="next", commit_message="c"
        )
        refs = api.list_repo_refs(**DATASET)
        new = {"v1": old, "v2": data.sha(REPO)}
        assert {tag.name: tag.target_commit for tag in refs.tags} == new
        assert {b.name: b.target_commit for b in refs.branches}["next"] == data.sha(REPO, "next")
        assert "c.txt" not in data.files(REPO)
        data.tag(REPO, "v1", "v2")
        assert api.dataset_info(REPO, revision="v1").sha == new["v2"]
        api.delete_tag(**DATASET, tag="v2")
        with pytest.raises(RevisionNotFoundError):
            api.dataset_info(REPO, revision="v2")


class TestCommits:
    def test_only_what_changed_is_uploaded(self, hub: HubServer, api: HfApi) -> None:
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

    def test_deletion(self, data: HubServer, api: HfApi) -> None:
        from huggingface_hub.errors import EntryNotFoundError

        api.create_commit(**DATASET, operations=[delete(TABLE), delete("a/")], commit_message="No")
        assert data.files(REPO) == [".gitattributes", "README.md"]
        with pytest.raises(EntryNotFoundError):
            api.create_commit(**DATASET, operations=[delete(TABLE)], commit_message="Again")

    def test_a_commit_on_an_old_parent(self, data: HubServer, api: HfApi) -> None:
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

    def test_upload_in_parts(self, data: HubServer, api: HfApi) -> None:
        data.part_size = 1000
        content = parquet([7] * 5000) + bytes(3000)
        api.upload_file(path_or_fileobj=content, path_in_repo="big.parquet", **DATASET)
        assert data.read(REPO, "big.parquet") == content
        sizes = [request.received for request in data.seen("/upload/", "PUT")]
        assert sum(sizes) == len(content)
        assert set(sizes[:-1]) == {1000}

    def test_metadata_must_be_yaml(self, data: HubServer, api: HfApi) -> None:
        wrong = add("README.md", b"---\na: [\n---\n")
        with pytest.raises(ValueError, match="Invalid metadata"):
            api.create_commit(**DATASET, operations=[wrong], commit_message="Card")

    @retries
    def test_an_interrupted_upload_is_tried_again(
        self, data: HubServer, api: HfApi, quick_retries: list[float]
    ) -> None:
        data.faults.add(Fault("/upload/", status=500), Fault("/upload/", "reset"))
        content = parquet([3])
        api.upload_file(path_or_fileobj=content, path_in_repo=TABLE, **DATASET)
        assert data.read(REPO, TABLE) == content
        assert data.faults.hits == [1, 1]
        assert quick_retries == [1, 2]

    @retries
    def test_too_many_requests(
        self, data: HubServer, api: HfApi, quick_retries: list[float]
    ) -> None:
        data.faults.add(Fault("/preupload/", status=429, retry_after=7))
        api.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", **DATASET)
        assert quick_retries == [8]


class TestPullRequests:
    def test_opened_by_somebody_else_and_merged(self, data: HubServer, api: HfApi) -> None:
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
        assert "+hello" in str(found.diff)
        assert data.comments(REPO, 1) == ["Look"]

        with pytest.raises(HfHubHTTPError) as refused:
            bob.merge_pull_request(**DATASET, discussion_num=1)
        assert status_of(refused) == 403
        data.commit(REPO, {"b.txt": b"b"})
        api.merge_pull_request(**DATASET, discussion_num=1, comment="Thanks")
        assert {"s/1.parquet", "s/note.txt", "b.txt"} <= set(data.files(REPO))
        found = api.get_discussion_details(**DATASET, discussion_num=1)
        assert (found.status, found.merge_commit_oid) == ("merged", data.sha(REPO))
        assert data.comments(REPO, 1) == ["Look", "Thanks"]

    def test_conflicts_are_not_merged(self, data: HubServer, api: HfApi) -> None:
        from huggingface_hub.errors import HfHubHTTPError

        change = [add(TABLE, parquet([1])), delete("a/b/notes.txt")]
        api.create_commit(**DATASET, operations=change, commit_message="One", create_pr=True)
        data.commit(REPO, {TABLE: parquet([2])})
        found = api.get_discussion_details(**DATASET, discussion_num=1)
        assert found.conflicting_files == [TABLE]
        with pytest.raises(HfHubHTTPError):
            api.merge_pull_request(**DATASET, discussion_num=1)
        data.commit(REPO, {TABLE: FILES[TABLE]})
        data.merge(REPO, 1)
        assert data.read(REPO, TABLE) == parquet([1])
        assert "a/b/notes.txt" not in data.files(REPO)

    def test_discussions(self, data: HubServer, api: HfApi) -> None:
        where = {**DATASET, "discussion_num": 1}
        opened = api.create_discussion(**DATASET, title="A question", description="Why?")
        assert (opened.num, opened.is_pull_request) == (1, False)
        draft = api.create_pull_request(**DATASET, title="A change")
        assert (draft.num, draft.status) == (2, "draft")
        comment = api.comment_discussion(**where, comment="<b>Because</b>")
        assert comment.content == "<b>Because</b>"
        assert "<b>" not in comment.rendered
        api.edit_discussion_comment(**where, comment_id=comment.id, new_content="So")
        assert data.comments(REPO, 1) == ["Why?", "So"]
        with pytest.warns(UserWarning, match="irreversible"):
            assert api.hide_discussion_comment(**where, comment_id=comment.id).hidden
        assert api.rename_discussion(**where, new_title="Asked").new_title == "Asked"
        api.change_discussion_status(**where, new_status="closed", comment="Done")
        assert data.discussion(REPO, 1).status == "closed"

        def nums(**wanted: Any) -> list[int]:
            return [d.num for d in api.get_repo_discussions(**DATASET, **wanted)]

        assert nums() == [2, 1]
        assert nums(discussion_type="pull_request") == [2]
        assert nums(discussion_status="closed") == [1]
        assert nums(author="bob") == []


class TestAccess:
    def test_private_repositories_are_hidden(self, hub: HubServer) -> None:
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

    def test_a_token_that_only_reads(self, data: HubServer) -> None:
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

    def test_gated_repositories(self, hub: HubServer) -> None:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import GatedRepoError

        hub.create_repo(REPO, gated=True, files=FILES)
        bob = HfApi(token=hub.token("bob"))
        assert bob.dataset_info(REPO).gated == "auto"
        with pytest.raises(GatedRepoError):
            bob.hf_hub_download(**DATASET, filename=TABLE)

    def test_the_log_holds_no_token_and_storage_gets_none(
        self, data: HubServer, api: HfApi
    ) -> None:
        api.hf_hub_download(**DATASET, filename=TABLE)
        assert {r.user for r in data.seen("^/(api|datasets)/")} == {"alice"}
        assert {r.user for r in data.seen("^/cdn/")} == {None}
        assert data.client_env["HF_TOKEN"] not in repr(data.requests)

    def test_storage_wants_its_signature(self, data: HubServer) -> None:
        from huggingface_hub.utils import get_session

        address = f"{data.endpoint}/datasets/{REPO}/resolve/main/{TABLE}"
        signed = get_session().head(address, follow_redirects=False).headers["Location"]
        assert signed.startswith(data.cdn)
        assert get_session().get(signed).content == FILES[TABLE]
        assert get_session().get(signed[:-1] + "_").status_code == 403


class TestDownloads:
    def test_by_tag_and_by_commit(self, data: HubServer, api: HfApi) -> None:
        from huggingface_hub.errors import EntryNotFoundError, RevisionNotFoundError

        path = api.hf_hub_download(**DATASET, filename=TABLE, revision="v1")
        assert Path(path).read_bytes() == FILES[TABLE]
        assert data.sha(REPO) in path
        assert Path(data.client_env["HF_HUB_CACHE"]) in Path(path).parents
        assert [(r.method, r.status) for r in data.requests] == [("HEAD", 302), ("GET", 200)]
        data.requests.clear()
        assert api.hf_hub_download(**DATASET, filename=TABLE, revision=data.sha(REPO)) == path
        assert not data.requests
        assert api.hf_hub_download(**DATASET, filename=TABLE, revision="v1") == path
        assert [r.method for r in data.requests] == ["HEAD"]
        notes = api.hf_hub_download(**DATASET, filename="a/b/notes.txt", revision="v1")
        assert Path(notes).read_bytes() == b"notes"
        with pytest.raises(EntryNotFoundError):
            api.hf_hub_download(**DATASET, filename="none.txt")
        with pytest.raises(RevisionNotFoundError):
            api.hf_hub_download(**DATASET, filename=TABLE, revision="v9")

    def test_snapshot_and_offline(self, data: HubServer, api: HfApi) -> None:
        from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

        folder = Path(api.snapshot_download(**DATASET, revision="v1", allow_patterns=["*.parquet"]))
        assert [p.name for p in folder.rglob("*") if p.is_file()] == ["cub.parquet"]
        data.requests.clear()
        with data.offline():
            wanted = {"filename": TABLE, "revision": "v1"}
            assert Path(api.hf_hub_download(**DATASET, **wanted)) == folder / TABLE
            with pytest.raises(LocalEntryNotFoundError):
                api.hf_hub_download(**DATASET, filename="README.md", revision="v1")
            with pytest.raises(OfflineModeIsEnabled):
                api.dataset_info(REPO)
        assert not data.requests
        assert api.dataset_info(REPO).id == REPO

    def test_another_process(self, data: HubServer) -> None:
        code = (
            "import huggingface_hub as h; from pathlib import Path; print(len(Path("
            f"h.hf_hub_download({REPO!r}, {TABLE!r}, repo_type='dataset')).read_bytes()))"
        )
        for env in (data.env(), data.env(HF_HUB_OFFLINE="1")):
            run = [sys.executable, "-c", code]
            out = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
            assert int(out.stdout) == len(FILES[TABLE])
        assert {r.user for r in data.seen("/api/|resolve", "HEAD")} == {"alice"}
        assert len(data.seen(TABLE, "GET")) == 1

    def test_file_system(self, data: HubServer) -> None:
        from huggingface_hub import HfFileSystem

        files = HfFileSystem()
        assert files.ls(f"datasets/{REPO}@v1/tables", detail=False) == [
            f"datasets/{REPO}@v1/{TABLE}"
        ]
        with files.open(f"datasets/{REPO}@v1/{TABLE}", block_size=2**10) as file:
            assert pq.read_table(file).column("x").to_pylist() == list(range(1000))
        ranges = [r for r in data.seen("/cdn/", "GET") if r.range]
        assert {r.status for r in ranges} == {206}

    def test_ranges(self, data: HubServer) -> None:
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

    def test_load_dataset(self, hub: HubServer, api: HfApi, toy: Release) -> None:
        import datasets

        from fslbench_data.release.release import load_release

        folder = Path(toy.files.where)
        api.create_repo("org/release", repo_type="dataset")
        api.upload_folder(repo_id="org/release", repo_type="dataset", folder_path=folder)
        api.create_tag("org/release", repo_type="dataset", tag="v1.0.0")
        wanted: dict[str, Any] = {"split": "cats", "revision": "v1.0.0"}
        data = datasets.load_dataset("org/release", "tasks-open-2w1s2q", **wanted)
        assert data.num_rows == 4
        local = Path(api.snapshot_download("org/release", repo_type="dataset", revision="v1.0.0"))
        assert load_release(local).manifest == load_release(folder).manifest
        with hub.offline():
            again = datasets.load_dataset("org/release", "tasks-open-2w1s2q", **wanted)
            assert again.num_rows == data.num_rows


class TestFaults:
    """What each fault looks like to the real client."""

    def download(self, api: HfApi, **more: Any) -> bytes:
        return Path(api.hf_hub_download(**DATASET, filename=TABLE, **more)).read_bytes()

    @retries
    def test_a_cut_download_goes_on_where_it_ended(
        self,
        data: HubServer,
        api: HfApi,
        quick_retries: list[float],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # the client keeps what it has got in steps of ten megabytes; here of a kilobyte
        monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
        data.faults.add(Fault(r"resolve/.*cub\.parquet", "cut", method="GET", after=1500))
        assert self.download(api) == FILES[TABLE]
        first, second = data.seen(TABLE, "GET")
        assert (first.status, first.sent) == (200, 1500)
        assert (second.status, second.range) == (206, "bytes=1024-")
        assert quick_retries == [1]

    @retries
    def test_a_truncated_body(
        self, data: HubServer, api: HfApi, quick_retries: list[float]
    ) -> None:
        size = len(FILES[TABLE])
        data.faults.add(Fault(TABLE, "truncated", method="GET", missing=10))
        assert self.download(api) == FILES[TABLE]
        assert [r.sent for r in data.seen(TABLE, "GET")] == [size - 10, size]

    def test_a_connection_reset_within_a_body(self, data: HubServer, api: HfApi) -> None:
        data.faults.add(Fault(TABLE, "cut", method="GET", after=100, abrupt=True))
        with pytest.raises(Exception, match=r"(?i)reset"):
            self.download(api)

    def test_a_connection_reset_before_the_answer(self, data: HubServer) -> None:
        from huggingface_hub.utils import get_session

        data.faults.add(Fault("whoami", "reset"))
        with pytest.raises(Exception, match=r"(?i)reset|disconnected"):
            get_session().get(f"{data.endpoint}/api/whoami-v2")
        assert data.seen("whoami")[0].status is None

    def test_a_tampered_file_has_its_length_and_etag(self, data: HubServer, api: HfApi) -> None:
        data.tamper(REPO, TABLE)
        wrong = self.download(api)
        assert len(wrong) == len(FILES[TABLE])
        assert sum(a != b for a, b in zip(wrong, FILES[TABLE], strict=True)) == 1
        data.tamper(REPO, TABLE, data=FILES[TABLE])
        data.faults.add(Fault(TABLE, "tampered", method="GET", at=5))
        wrong = self.download(api, force_download=True)
        assert wrong[5] == FILES[TABLE][5] ^ 0xFF
        assert wrong[:5] + wrong[6:] == FILES[TABLE][:5] + FILES[TABLE][6:]

    def test_a_wrong_etag(self, data: HubServer, api: HfApi) -> None:
        data.faults.add(Fault(TABLE, "wrong_etag", method="HEAD", etag="f" * 64))
        path = Path(api.hf_hub_download(**DATASET, filename=TABLE))
        assert path.resolve().name == "f" * 64
        assert path.read_bytes() == FILES[TABLE]
        etag = data.etag(REPO, "README.md")
        assert Path(api.hf_hub_download(**DATASET, filename="README.md")).resolve().name == etag

    def test_a_wrong_length(self, data: HubServer, api: HfApi) -> None:
        data.faults.add(Fault(TABLE, "wrong_length", times=None, missing=3))
        assert self.download(api) == FILES[TABLE][:-3]
        data.faults.clear()
        data.faults.add(Fault(TABLE, "wrong_length", method="GET", missing=3))
        with pytest.raises(OSError, match="should be of size"):
            self.download(api, force_download=True)

    def test_a_page_instead_of_an_answer(self, data: HubServer, api: HfApi) -> None:
        data.faults.add(Fault(TABLE, "html", times=None))
        with pytest.raises(OSError, match=r"X-Repo-Commit|cannot find|cached"):
            self.download(api)

    def test_a_late_answer(self, data: HubServer, api: HfApi) -> None:
        data.faults.add(Fault(TABLE, "delay", method="HEAD", seconds=0.2))
        start = time.monotonic()
        assert self.download(api) == FILES[TABLE]
        assert time.monotonic() - start >= 0.2

    def test_how_often(self, data: HubServer) -> None:
        from huggingface_hub.utils import get_session

        data.faults.add(Fault("whoami", status=503, skip=1, times=2, retry_after=3))
        answers = [get_session().get(f"{data.endpoint}/api/whoami-v2") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [401, 503, 503, 401]
        assert answers[1].headers["Retry-After"] == "3"
        assert data.faults.hits == [2]


def test_nobody_answers_before_the_server_starts() -> None:
    with bound_socket() as bound, pytest.raises(ConnectionRefusedError):
        socket.create_connection(bound.getsockname())


def test_a_reset_server_is_empty(data: HubServer) -> None:
    data.reset()
    assert (data.repos, data.requests, data.faults.active) == ({}, [], [])
    assert not list(data.store.folder.iterdir())
