"""Reading SPEC.toml: what it says, and what it may not say."""

from pathlib import Path

import pytest
from specs import HEAD, spec_in

from benchmark_spec.errors import FSLBenchError, SpecError, UnknownNameError
from builders.release.spec_file import find_spec, read_spec
from builders.sources import SOURCES

OPTIMAL = 'queries = "optimal"\n'
CUB = '[[dataset]]\nname = "cub"\nsource = "catalogue"\n'


def test_what_it_says(tmp_path: Path) -> None:
    spec = spec_in(
        tmp_path,
        HEAD
        + 'protocols = ["5w1s1q"]\nseed = 7\ntasks = { closed = 30 }\n'
        + CUB
        + 'suites = ["open", "closed"]\n'
        + '[[dataset]]\nname = "mine"\nsource = "image_folder"\nfolder = "x/y"\nseed = 8\n'
        + 'protocols = ["2w1s1q", "3w2s2q"]\nsuites = ["open"]\n'
        + '[dataset.options]\ntitle = "t"\n'
        + '[[dataset]]\nname = "dtd"\n',
    )
    assert (spec.name, spec.version, spec.description) == ("r", "1.0.0", "d")
    cub, mine, dtd = spec.datasets
    assert (cub.source, cub.seed, dict(cub.tasks)) == ("catalogue", 7, {"closed": 30})
    assert [str(name) for name in cub.every_task_set] == ["open-5w1s1q", "closed-5w1s1q"]
    assert (mine.folder, mine.seed, dict(mine.options)) == ("x/y", 8, {"title": "t"})
    assert [str(name) for name in mine.every_task_set] == ["open-2w1s1q", "open-3w2s2q"]
    assert (dtd.source, dtd.folder, dtd.suites) == ("dtd", "dtd", ())


def test_task_sets_by_name_and_ladders(tmp_path: Path) -> None:
    spec = spec_in(
        tmp_path,
        HEAD
        + 'protocols = ["5w1s1q"]\ntasks = { closed = 9 }\n'
        + '[[dataset]]\nname = "emoji"\nattributes = { style = "given" }\n'
        + 'suites = ["open", "counterfactual_style"]\n'
        + 'task_sets = ["open-2w1s1q", "open_ladder_style-5w5s5q"]\n',
    )
    (emoji,) = spec.datasets
    assert [str(name) for name in emoji.every_task_set] == [
        "open-5w1s1q", "same_style-5w1s1q", "any_style-5w1s1q", "other_style-5w1s1q",
        "open-2w1s1q", "open_random_style-5w5s5q", "open_support_style-5w5s5q",
        "open_intra_style-5w5s5q", "open_inter_style-5w5s5q", "open_biased_style-5w5s5q",
    ]  # fmt: skip
    assert [suite.name for suite in emoji.every_suite].count("open") == 1
    assert emoji.number_of_tasks("any_style") == 9


def test_its_digest_is_of_all_it_says_and_not_of_how(tmp_path: Path) -> None:
    first = spec_in(tmp_path, HEAD + "seed = 3\n" + CUB + 'suites = ["open"]\n').digest
    same = HEAD + CUB + '# a remark\nseed = 3\nsuites = [\n"open"]\n'
    assert spec_in(tmp_path, same).digest == first
    other = HEAD + CUB + 'seed = 4\nsuites = ["open"]\n'
    assert spec_in(tmp_path, other).digest != first


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (CUB + 'suites = ["opn"]\n', "did you mean 'open'"),
        (CUB + 'suites = ["open", "open"]\n', "listed twice"),
        (CUB + 'suites = ["open"]\ntask_sets = ["open-5w1s1q"]\n', "listed twice: open-5w1s1q"),
        (CUB + 'task_sets = ["open"]\n', "'open' is not the name of a task set"),
        (CUB + 'task_sets = ["ladder_-5w1s1q"]\n', "unknown suite 'random_'"),
        (CUB + 'task_sets = ["lader_x-5w1s1q"]\n', "unknown suite 'lader_x'"),
        (CUB + 'protocols = ["5w1s"]\nsuites = ["open"]\n', "5w1s says no number of queries"),
        (OPTIMAL + CUB + 'protocols = ["5w5sq"]\n', "5w5sq"),
        (OPTIMAL + CUB + 'suites = ["open"]\nprotocols = ["1w5s"]\n', "1 ways"),
        (OPTIMAL + CUB + 'task_sets = ["clopen-5w5s"]\n', "clopen"),
        (
            OPTIMAL + CUB + 'suites = ["open"]\nprotocols = ["5w5s"]\ntask_sets = ["open-5w5s"]\n',
            "listed twice: open-5w5s",
        ),
    ],
)
def test_task_sets_that_it_may_not_list(tmp_path: Path, text: str, what: str) -> None:
    """What else is refused of a file is in the table of refusals."""
    with pytest.raises(FSLBenchError, match=what):
        spec_in(tmp_path, HEAD + text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "tasks = { closed = 0 }\n" + CUB,
        HEAD + "tasks = { closd = 3 }\n" + CUB,
        HEAD.replace("1.0.0", "0.1") + CUB,
    ],
)
def test_what_is_wrong_for_every_data_set_is_of_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(FSLBenchError) as caught:
        spec_in(tmp_path, text)
    assert caught.value.where.endswith(".toml")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot read"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(UnknownNameError, match="did you mean 'embedded'"):
        find_spec(Path("embeded"))
    assert find_spec(tmp_path / "none.toml") == tmp_path / "none.toml"


@pytest.mark.parametrize("name", ["embedded", "fewstab", "glyphs", "meta_dataset"])
def test_the_specifications_that_come_with_the_package(name: str) -> None:
    spec = read_spec(find_spec(Path(name)))
    assert spec.name == name
    for dataset in spec.datasets:
        assert dataset.source == "catalogue" or dataset.source in SOURCES
        assert dataset.with_queries(dict.fromkeys(dataset.left_open, 1)).every_task_set
