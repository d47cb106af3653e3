"""Proposing results, and what a proposal would bring, next to what is there already."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from commands import invoke
from recorded import recorded_sets
from results_repository import KEY, Repository, answers, random_counts

import fslbench_data as fb
from benchmark_spec.errors import HubAccessError, HubNotFoundError, ResultsError, UnboundError
from fslbench_data.leaderboard import review as module
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.review import prepare, propose, review, review_text


@pytest.fixture
def proposal(tmp_path):
    return Repository(tmp_path / "proposal")


def test_the_rows_are_those_of_the_leaderboard_afterwards(repository, proposal, newer, older):
    repository.add(answers(newer, {KEY: random_counts(newer, seed=1)}, "theirs"))
    repository.add(answers(older, {KEY: random_counts(older, seed=2)}, "older"))
    new = proposal.add(answers(newer, {KEY: [4] * len(random_counts(newer))}, "mine"))
    old = proposal.add(answers(older, {KEY: random_counts(older, seed=3)}, "theirs"))
    found = review(proposal.files, [new, old], repository.files, [newer, older])
    assert {one.name for one in found.accepted} == {new, old}
    assert found.rejected == ()
    assert found.reports == (None, None)  # no reference methods there
    for name in (new, old):
        (repository.folder / name).write_bytes((proposal.folder / name).read_bytes())
    after = leaderboard(repository.files, [newer, older])
    assert [str(board) for board in found.boards] == [str(board) for board in after.boards]
    text = review_text(found)
    for board in after.boards:
        assert str(board) in text
        assert f"Answers `{board.release}`, 1 task set of it." in text
    assert f"mine would lead {KEY}. Next is theirs, behind by: " in text
    assert "| 1 of 2 | 100.00 on every task | leader | mine | yes | yes |" in text


def test_nothing_may_be_proposed_and_the_next_may_be_identical(repository, proposal, newer):
    counts = {KEY: random_counts(newer)}
    names = [proposal.add(answers(newer, counts, method)) for method in ("a", "b")]
    nothing, text = (
        review_text(review(proposal.files, some, repository.files, [newer])) for some in ([], names)
    )
    assert nothing == "No submission is added.\n"
    assert f"a would lead {KEY}. Next is b, identical on every task." in text


def test_the_base_counts_as_it_stands(repository, proposal, newer):
    """A file that is in both is judged once; one that says the same as another is refused."""
    there = repository.add(answers(newer, {KEY: random_counts(newer, seed=1)}, "theirs"))
    again = answers(newer, {KEY: random_counts(newer, seed=1)}, "theirs")
    order = np.arange(again.table.num_rows)[::-1]
    copy = proposal.add(fb.Submission(again.table.take(order), again.methods, again.bindings))
    found = review(proposal.files, [copy], repository.files, [newer])
    assert [each.where for each in found.rejected] == [there]
    assert found.boards == ()
    assert "says what another submission says, which came first" in review_text(found)


@pytest.mark.slow
def test_at_most_a_comment(repository, proposal, newer, monkeypatch):
    counts = random_counts(newer)
    names = [proposal.add(answers(newer, {KEY: counts}, f"m{i} {'#' * 150}")) for i in range(12)]
    whole = review_text(review(proposal.files, names, repository.files, [newer]))
    monkeypatch.setattr(module, "MOST_CHARACTERS", 5000)
    cut = review_text(review(proposal.files, names, repository.files, [newer]))
    assert len(cut) < 5200 < len(whole)
    assert cut.startswith(whole[:1000])
    assert "The rest is left out here" in cut


@pytest.fixture
def results(hub, toy):
    hub.create_repo("org/toy", files=Path(toy.files.where))
    hub.tag("org/toy", "v1.0.0")
    hub.create_repo("org/results", files={"leaderboard.toml": b'releases = ["org/toy@v1.0.0"]'})
    return hub


@pytest.fixture
def answered(toy, tmp_path):
    """Two methods' counts on the open and the closed set of cats."""
    counts = {"cats/open-2w1s2q": [4, 3, 2, 4], "cats/closed-2w1s2q": [4, 3, 2, 4, 1]}
    backwards = {key: values[::-1] for key, values in counts.items()}
    mine = recorded_sets(toy, counts, description="Ours.")
    path = tmp_path / "answers.parquet"
    fb.merge([mine, recorded_sets(toy, backwards, "other")]).write(path)
    return path


def _submit(file):
    return invoke("submit", file, "--to", "org/results")


def _proposed(results, folder):
    """Return the path of the file in the first pull request, and where a copy of it lies."""
    (path,) = [f for f in results.files("org/results", "refs/pr/1") if f.endswith(".parquet")]
    copy = folder / "found.parquet"
    copy.write_bytes(results.read("org/results", path, "refs/pr/1"))
    assert path == f"submissions/{hashlib.sha256(copy.read_bytes()).hexdigest()}.parquet"
    return path, copy


def test_a_submission_becomes_a_pull_request_named_by_its_content(results, answered):
    said = _submit(answered)
    assert said.exit_code == 0, said.output
    assert said.stdout.strip().endswith("/datasets/org/results/discussions/1")
    assert "mine, other, valid for toy@1.0.0" in said.stderr
    path, copy = _proposed(results, answered.parent)
    assert path not in results.files("org/results")
    found = fb.Submission.read(copy)
    original = fb.Submission.read(answered)
    assert found.table.equals(original.table)
    assert found.bindings == original.bindings
    assert found.methods == original.methods
    assert _submit(answered).stdout == said.stdout  # the same pull request, no second one
    results.merge("org/results", 1)
    assert f"has these results already, as {path}" in _submit(answered).stdout


def test_a_strangers_pull_request_with_the_same_results_is_not_ours(results, answered):
    from huggingface_hub import CommitOperationAdd, HfApi

    proposal = prepare(fb.Submission.read(answered), "org/results")
    files = {proposal.path: proposal.content, "leaderboard.toml": b"releases = []"}
    HfApi(token=results.token("mallory")).create_commit(
        "org/results",
        [CommitOperationAdd(path, content) for path, content in files.items()],
        commit_message=proposal.title,
        repo_type="dataset",
        create_pr=True,
    )
    assert _submit(answered).stdout.strip().endswith("/discussions/2")


def test_csv_is_sent_as_parquet(results, toy, tmp_path):
    info = toy.task_set_info("cats", "open-2w1s2q")
    rows = [f"mine,{info.dataset},{info.name},{t},{t},4,{info.fingerprint}" for t in range(4)]
    head = "method,dataset,task_set,task_id,n_correct,n_query,fingerprint"
    (tmp_path / "a.csv").write_text("\n".join([head, *rows]))
    assert _submit(tmp_path / "a.csv").exit_code == 0
    found = fb.Submission.read(_proposed(results, tmp_path)[1])
    assert found.table.column("n_correct").to_pylist() == [0, 1, 2, 3]


def test_what_the_repository_would_refuse_is_not_sent(results, toy, tmp_path):
    info = toy.task_set_info("cats", "open-2w1s2q")
    unbound = fb.Submission.from_accuracies([1, 0.75, 0.5, 1], info, "mine")
    with pytest.raises(UnboundError) as caught:
        prepare(unbound, "org/results")
    assert "--unbound" not in str(caught.value)
    with pytest.raises(ResultsError, match=r"no leaderboard\.toml"):
        prepare(unbound, "org/toy")
    with pytest.raises(HubNotFoundError):
        prepare(unbound, "org/nothing")
    assert not [r for r in results.requests if r.method == "POST"]


def test_an_older_release_may_be_answered(results, toy, embedded, example):
    results.create_repo("org/embedded", files=Path(embedded.files.where))
    results.tag("org/embedded", "v3.1.0")
    board = b'releases = ["org/toy@v1.0.0", "org/embedded@v3.1.0"]\n'
    results.commit("org/results", {"leaderboard.toml": board})
    proposal = prepare(example, "org/results")
    assert str(proposal.release) == "embedded@3.1.0"
    assert propose(proposal).endswith("/1")


def test_nobody_is_logged_in_and_a_token_without_rights(results, answered, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    said = _submit(answered)
    assert said.exit_code != 0
    assert "nobody is logged in to the Hub" in said.stderr
    token = results.token("eve", read_only=True)
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubAccessError) as caught:
        propose(prepare(fb.Submission.read(answered), "org/results"))
    assert token not in str(caught.value)
    said = _submit(answered)
    assert (said.exit_code, token in said.output) == (2, False)
