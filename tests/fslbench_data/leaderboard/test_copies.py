"""Files that say the same: one entry, the first one's, whatever strangers call their files."""

import csv
import io
import json

import pytest
from git_checkout import Checkout, needs_git
from msgspec.structs import replace
from results_repository import KEY, Repository, answers, random_counts

from fslbench_data.hub import HubAddress
from fslbench_data.leaderboard import leaderboard as checked
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.repository import FolderFiles, HubResults
from fslbench_data.leaderboard.review import review, review_text
from fslbench_data.leaderboard.tables import (
    COPIES_NOTE,
    leaderboard_csv,
    leaderboard_json,
    leaderboard_tables,
)

LATER, EARLIER = "2026-06-01T00:00:00Z", "2001-01-01T00:00:00Z"


@pytest.fixture
def pair(tmp_path, newer):
    """Names of a copy and of the honest file, the copy's being the smaller; where they lie."""
    draft, made = Repository(tmp_path / "made"), answers(newer, {KEY: random_counts(newer)})
    about = [replace(made.methods["mine"], description=f"no. {i}") for i in range(3)]
    copy, _, honest = sorted(draft.add(replace(made, methods={"mine": own})) for own in about)
    return copy, honest, draft.folder


@pytest.fixture
def put(pair, repository):
    """Puts files of the pair into the repository, or another, and commits them if there is git."""

    def put(*names, git=None, date=LATER):
        for name in names:
            (repository.folder / name).parent.mkdir(exist_ok=True)  # git takes empty folders away
            (repository.folder / name).write_bytes((pair[2] / name).read_bytes())
        if git is not None:
            git.commit("some", date)

    return put


def _from(found):
    (table,) = found.boards[0].sets
    return [row.entry.sources for row in table.rows]


def test_without_a_history_no_file_is_thrown_out(repository, newer, pair, put):
    copy, honest, _ = pair
    repository.add(answers(newer, {KEY: random_counts(newer, seed=1)}, "other"))
    put(copy, honest)
    found = leaderboard(repository.files, [newer])
    assert found.rejected == ()
    digests = (copy[12:76], honest[12:76])
    assert digests in _from(found)
    assert len(_from(found)) == 2
    assert set(digests) < set(found.boards[0].submissions)
    ((table, _),) = leaderboard_tables(found)
    assert f"{copy[12:20]}, {honest[12:20]}" in [row[-1] for row in map(table.texts, table.rows)]
    assert COPIES_NOTE in table.notes
    lines = csv.DictReader(io.StringIO(leaderboard_csv(found).partition("\n")[2]))
    assert {line["submission"] for line in lines if line["method"] == "mine"} == {" ".join(digests)}
    rows = json.loads(leaderboard_json(found))["boards"][0]["sets"][0]["rows"]
    assert [[row["submission"], *row["also"]] for row in rows if row["method"] == "mine"] == [
        list(digests)
    ]


@needs_git
@pytest.mark.parametrize("honest_first", [True, False])
def test_with_a_history_the_first_one_stays(repository, newer, pair, put, honest_first):
    """Commits are counted; the dates that they claim are of no matter, nor what git is set to:
    that root commits are not shown, or an order of files that is not there."""
    first, second = sorted(pair[:2], reverse=honest_first)
    put(first)
    checkout = Checkout(repository.folder)  # whose first commit has the file
    put(second, git=checkout, date=EARLIER)
    for setting, value in (("log.showRoot", "false"), ("diff.orderFile", "nowhere")):
        checkout.git("config", setting, value)
    found = leaderboard(repository.files, [newer])
    assert _from(found) == [(first[12:76],)]
    (refused,) = found.rejected
    assert (refused.name, refused.where) == (second, first)


@needs_git
def test_a_branch_comes_with_its_merge(repository, pair, put):
    copy, honest, _ = pair
    checkout = Checkout(repository.folder)
    checkout.git("checkout", "--quiet", "-b", "theirs")
    put(copy, git=checkout, date=EARLIER)
    checkout.git("checkout", "--quiet", "main")
    put(honest, git=checkout)
    checkout.git("merge", "--quiet", "--no-ff", "--no-edit", "theirs", date=EARLIER)
    came = repository.files.arrivals([copy, honest])
    assert came[honest] < came[copy]


@needs_git
def test_what_no_commit_tells_apart_stands_together(repository, newer, pair, put, tmp_path):
    copy, honest, _ = pair
    checkout = Checkout(repository.folder)
    put(honest, git=checkout)
    put(copy)
    assert _from(leaderboard(repository.files, [newer])) == [(honest[12:76],)]  # not committed
    checkout.commit("copy")
    shallow = tmp_path / "shallow"
    checkout.git("clone", "--quiet", "--depth=1", f"file://{repository.folder}", str(shallow))
    found = leaderboard(FolderFiles(shallow), [newer])
    assert _from(found) == [(copy[12:76], honest[12:76])]
    assert found.rejected == ()
    # a folder below a checkout has no history of its own
    (repository.folder / "below").mkdir()
    (repository.folder / "submissions").rename(repository.folder / "below/submissions")
    checkout.commit("below")
    assert FolderFiles(repository.folder / "below").arrivals([copy, honest]) == {}


def test_on_the_hub_the_first_commit_counts(hub, newer, pair, monkeypatch):
    copy, honest, made = pair
    hub.create_repo("org/results", files={"leaderboard.toml": b'releases = ["embedded"]'})
    for name in (honest, copy):
        hub.commit("org/results", {name: (made / name).read_bytes()})
    more = [f"submissions/{i:064x}.parquet" for i in range(3)]
    for name in reversed(more):
        hub.commit("org/results", {name: name.encode()})
    monkeypatch.setattr("fslbench_data.leaderboard.repository._FILES_AT_ONCE", 2)
    files = HubResults.open(HubAddress("org/results"))
    came = files.arrivals(sorted([copy, honest, *more]))
    assert sorted(came, key=came.__getitem__) == [honest, copy, *more[::-1]]
    found = leaderboard(files, [newer])
    assert _from(found) == [(honest[12:76],)]
    assert copy in [each.name for each in found.rejected]


def _given(patch, came):
    def arrivals(_, names):
        return {name: came[name] for name in names if name in came}

    patch.setattr(FolderFiles, "arrivals", arrivals)


def test_room_is_for_who_came_first(repository, newer, monkeypatch):
    names = sorted(
        repository.add(answers(newer, {KEY: random_counts(newer, seed=seed)}, f"m{seed}"))
        for seed in range(4)
    )
    monkeypatch.setattr(checked, "MOST_VALUES", 2 * len(random_counts(newer)))
    _given(monkeypatch, {name: -i for i, name in enumerate(names) if i})  # names[0] came last
    found = leaderboard(repository.files, [newer])
    assert sorted(found.boards[0].submissions) == [name[12:76] for name in names[2:]]
    assert ["hold more than" in each.what for each in found.rejected] == [True, True]


def test_of_equal_means_the_first_to_come_leads(repository, newer, monkeypatch):
    """Not the one with the first label, which anybody can choose; and the signature tells."""
    counts = random_counts(newer)
    honest = repository.add(answers(newer, {KEY: counts}, "zebra"))
    shuffled = repository.add(answers(newer, {KEY: counts[::-1]}, "aaa"))
    _given(monkeypatch, {honest: 0, shuffled: 1})
    found = leaderboard(repository.files, [newer])
    _given(monkeypatch, {honest: 1, shuffled: 0})
    other = leaderboard(repository.files, [newer])
    assert [each.boards[0].sets[0].leader for each in (found, other)] == ["zebra", "aaa"]
    assert [row.rank for row in found.boards[0].sets[0].rows] == [1, 1]
    assert found.signature != other.signature


def test_a_review_of_copies(repository, newer, pair):
    copy, honest, made = pair
    text = review_text(review(FolderFiles(made), [copy, honest], repository.files, [newer]))
    assert "**2 files: every rule is met.**" in text
    assert f"### {copy[12:24]}, {honest[12:24]}: mine" in text


@needs_git
def test_nothing_that_a_foreign_checkout_names_is_run(tmp_path):
    folder = tmp_path / "theirs"
    (folder / "submissions").mkdir(parents=True)
    (folder / "submissions/a").write_text("a")
    checkout = Checkout(folder)
    tree, parent = checkout.git("rev-parse", "HEAD^{tree}"), checkout.git("rev-parse", "HEAD")
    who = "somebody <somebody@example.org> 1 +0000"
    signed = (
        f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\ngpgsig -----BEGIN PGP "
        "SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    )
    commit = checkout.git("hash-object", "-t", "commit", "-w", "--stdin", text=signed)
    checkout.git("update-ref", "refs/heads/main", commit)
    run = tmp_path / "run"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{run}'\n")
    script.chmod(0o755)
    for name in ("gpg.program", "core.fsmonitor", "core.pager", "core.sshCommand"):
        checkout.git("config", name, str(script))
    checkout.git("config", "log.showSignature", "true")
    assert FolderFiles(folder).arrivals(["submissions/a"]) == {"submissions/a": 1}
    assert not run.exists()
    checkout.git("log")  # as it would be
    assert run.exists()


def test_a_broken_checkout_has_no_history(repository):
    (repository.folder / ".git").write_text("gitdir: nowhere")
    assert repository.files.arrivals(["submissions/x"]) == {}
