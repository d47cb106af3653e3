"""``fslbench leaderboard`` and ``review``: every format, strangers' names, and the docs page."""

import json
import re
from pathlib import Path

import pytest
from commands import invoke, printed
from elements import Elements
from golden_commands import REGENERATE
from results_repository import Repository

from fslbench_data.cli.options import FORMATS
from fslbench_data.files import sha256_of
from fslbench_data.render.table import Column, Table, markdown
from fslbench_data.render.templating import BREAK, escaped, neutral, neutral_table
from fslbench_data.submission.merging import renamed

HOSTILE = (
    "<img src=x onerror=alert(1)> @octocat #12 GH-7 [x](http://e.vil) ![y](//e.vil) www.e.vil "
    "a@b.cd `x` |$x$ &#64;me **b** _i_ --> \\"
)

DIGITS = ("--dataset", "digits", *(f"--task-set={s}-5w10s7q" for s in ("open", "closed")))
"""The smallest board that has every kind of interval of sets with and without reused images."""
REVIEW = "$ fslbench review examples/my_results.parquet --results examples/results -o comment.md"


@pytest.fixture
def repository(tmp_path, root):
    made = Repository(tmp_path / "results")
    made.add_bytes((root / "examples/my_results.parquet").read_bytes())
    return made


@pytest.fixture
def results(repository, example):
    """The same with the example under a hostile name, too."""
    repository.add(renamed(example, {"pixels/Ridge": HOSTILE}))
    return repository.folder


@pytest.mark.slow
def test_the_page_has_what_the_commands_print(root, monkeypatch):
    monkeypatch.chdir(root)
    page = root / "docs/leaderboard.md"
    parts = page.read_text(encoding="utf-8").split("```")
    line, _, shown = parts[1].strip().partition("\n")
    assert line.startswith("$ fslbench leaderboard ")
    table = printed(*line.split()[2:])
    at = parts.index(f"\n{REVIEW}\n") + 2
    _, _, comment = printed(*REVIEW.split()[2:-2]).partition("-->\n\n")  # the signature
    lines = comment.splitlines()[: parts[at].strip().count("\n") + 1]
    if REGENERATE:
        parts[1] = f"\n{line}\n{table.strip()}\n"
        parts[at] = "\n".join(["", *lines, ""])
        page.write_text("```".join(parts), encoding="utf-8")
        return
    assert " ".join(shown.split()) == " ".join(table.split()), "FSLBENCH_REGENERATE=1 writes it"
    assert parts[at].strip().splitlines() == lines, "FSLBENCH_REGENERATE=1 writes it"


@pytest.mark.slow
def test_what_is_left_out_is_listed(results, root):
    for number in range(12):
        (results / f"submissions/{number:064x}.parquet").write_bytes(b"junk")
    (results / "submissions/\x1b[31mred\n.txt").write_bytes(b"")
    where = ("leaderboard", "--results", str(results), *DIGITS)
    result = invoke(*where)
    assert result.exit_code == 0
    said = result.stderr.splitlines()
    assert len(said) == 12
    assert said[0] == (
        f"refused submissions/{0:064x}.parquet: its name is not the SHA-256 of its bytes"
    )
    assert said[10] == "… and 2 more refused"
    assert said[11].startswith("ignored submissions/?[31mred .txt: ")
    assert invoke(*where, "--check").exit_code == 1
    whole = str(root / "examples/results")
    assert invoke("leaderboard", "--results", whole, *DIGITS, "--check").exit_code == 0
    content = json.loads(printed(*where, "--format", "json"))
    assert (len(content["refused"]), len(content["ignored"])) == (12, 1)
    assert set(content["refused"][0]) == {"name", "what", "where", "expected", "fix"}


@pytest.mark.slow
def test_a_checkout_without_git_lfs(repository, results, root, tmp_path):
    for path in (results / "submissions").iterdir():
        path.write_text(_pointer(path))
    result = invoke("leaderboard", "--results", str(results), *DIGITS)
    assert result.exit_code == 0
    said = result.stderr.splitlines()
    assert said[0] == (
        "All 2 submissions are pointers of Git LFS, not the files themselves: run `git lfs pull` "
        "first."
    )
    assert said[1].endswith(": it is a pointer of Git LFS, not the file itself")
    example = str(root / "examples/my_results.parquet")
    result = invoke("review", example, "--results", str(results))
    assert result.exit_code == 0
    assert "**1 of 1 submission is a pointer of Git LFS" in result.stdout  # the other is proposed
    assert "The ranks below leave them out.**" in result.stdout
    pointer = tmp_path / "mine.parquet"
    pointer.write_text(_pointer(Path(example)))
    result = invoke("review", str(pointer), "--results", str(root / "examples/results"))
    assert result.exit_code == 1
    assert "it is a pointer of Git LFS, not the file itself" in result.stdout
    assert "fix: git lfs pull" in result.stdout
    assert "SHA-256 of its bytes" not in result.stdout


def _pointer(path):
    size, digest = path.stat().st_size, sha256_of(path)
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_of_a_stranger_works_on_a_terminal(results, form):
    (results / f"submissions/{'0' * 64}.parquet").write_bytes(b"\x1b[31m")
    result = invoke("leaderboard", "--results", str(results), *DIGITS, "--format", form)
    for text in (result.stdout, result.stderr):
        assert {c for c in text if not c.isprintable()} <= {"\n", BREAK}


def _shown(text):
    """Markdown as it is shown, if nothing but backslashes has a meaning."""
    return re.sub(r"\\(.)", r"\1", text)


def test_hostile_names_in_markdown(repository, example, tmp_path):
    """In a comment on what is proposed, and in the table of a repository that holds it."""
    theirs, where = tmp_path / "theirs.parquet", ("--results", str(repository.folder))
    renamed(example, {"pixels/Ridge": HOSTILE}).write(theirs)
    comment = printed("review", str(theirs), *where)
    repository.add_bytes(theirs.read_bytes())
    board = printed("leaderboard", *where, *DIGITS, "--format", "markdown")
    for text in (comment, board):
        assert text.count("octocat") >= 2
        body = text.partition("-->")[2].replace("`embedded@3.1.0`", "")  # after the signature
        body = body.replace("&#8203;", BREAK)
        assert not re.search(r"@(?=\w)|#(?=\d)|(?i:gh-(?=\d)|www\.)|://", body)  # mentions, links
        assert not re.search(rf"(?<!\\)([\[`]|<(?!!--)|&(?!{BREAK}))", body)
        # every row of every table has as many cells as its head
        for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
            cells = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table.splitlines()}
            assert len(cells) == 1, table
    assert Elements(_shown(HOSTILE)).tags == ["img"]  # what it would have been


def test_neutral_texts():
    assert neutral("plain name, 3.5 @ 7: a/b #x") == f"plain name, 3.5 @ 7: a/b #{BREAK}x"
    for text in ("@a", "a@b", "#1", "x#1", "GH-1", "http://x", "ftp://x", "www.x", ":tada:", "$x$"):
        shown = neutral(text)
        assert shown != text
        assert shown.replace(BREAK, "") == text
    texts = ("- a", r"\- a"), ("1. a", r"1\. a"), ("a\nb", "a b"), ("<b>", r"\<b\>")
    assert [escaped(text) for text, _ in texts] == [shown for _, shown in texts]
    assert _shown(escaped(HOSTILE)).replace(BREAK, "") == HOSTILE
    table = Table("@a", (Column("x", str),), ("@b|c",), ("@c",))
    assert not re.search("@[abc]", markdown([neutral_table(table)], ""))


def test_a_review_says_why_a_file_is_refused(results, tmp_path, root):
    junk, link = tmp_path / "junk.parquet", tmp_path / "link.parquet"
    junk.write_bytes(b"junk")
    link.symlink_to("/etc/passwd")
    deeper = tmp_path / "submissions/deeper" / f"{'a' * 64}.parquet"
    deeper.parent.mkdir(parents=True)
    deeper.write_bytes((root / "examples/my_results.parquet").read_bytes())
    comment = tmp_path / "comment.md"
    files = map(str, (junk, link, deeper, tmp_path / "gone.parquet"))
    result = invoke("review", *files, "--results", str(results), "-o", str(comment))
    assert result.exit_code == 1
    assert f"{junk} would be submissions/" in result.stderr
    text = comment.read_text(encoding="utf-8")
    assert "**4 files: 4 refused.**" in text
    assert "its name is not the SHA-256 of its bytes" in text
    assert "link.parquet is a symbolic link, which is not followed" in text
    assert "gone.parquet cannot be opened: No such file or directory" in text
    assert text.count("fix:") >= 2
    assert str(tmp_path) not in text
    assert "root:" not in text


def test_a_review_of_what_is_there_already(repository, root):
    """Reviewed from a checkout in which the file lies already: not compared with itself."""
    (same,) = (repository.folder / "submissions").iterdir()
    text = printed("review", str(same), "--results", str(repository.folder))
    assert "**1 file: every rule is met.**" in text
    file = str(root / "examples/my_results.parquet")  # the same bytes have the same name
    assert printed("review", file, "--results", str(repository.folder)) == text


def test_a_nested_folder_does_not_stand_for_the_file_that_a_proposal_changes(
    repository, example, tmp_path
):
    """It holds the old bytes, below a folder `submissions` of its own."""
    example.write(tmp_path / "theirs.parquet")
    name = repository.add_bytes((tmp_path / "theirs.parquet").read_bytes())
    changed = tmp_path / "proposed" / name
    nested = changed.parent / "0" / name
    for path, more in ((changed, b"!"), (nested, b"")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((repository.folder / name).read_bytes() + more)
    where = ("--results", str(repository.folder))
    result = invoke("review", str(nested), str(changed), *where)
    assert result.exit_code == 1
    assert "**2 files: 2 refused.**" in result.stdout
    assert invoke("review", str(nested), *where).exit_code == 1
    refused = invoke("review", str(changed), str(repository.folder / name), *where)
    assert refused.exit_code == 2
    assert f"two files are {name}" in refused.stderr
    same = (str(tmp_path / "theirs.parquet"), str(repository.folder / name))
    assert "**1 file:" in invoke("review", *same, *where).stdout


def test_a_review_is_never_too_long(tmp_path, results):
    paths = [tmp_path / f"{number}.parquet" for number in range(120)]
    for path in paths:
        path.write_text(f"junk {path}")
    result = invoke("review", *paths, "--results", str(results))
    assert result.exit_code == 1
    assert len(result.stdout) < 65_000
    assert "… and 90 more refused." in result.stdout
