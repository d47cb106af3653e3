"""Reading SPEC.toml: what it says, and what it may not say."""

from pathlib import Path

import pytest
from few_shot_folders import all_classes, shrink, write_few_shot
from specs import HEAD, spec_in

from benchmark_spec.errors import FSLBenchError, SpecError, UnknownNameError
from builders.features import Settings
from builders.release import preflight
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import find_spec, read_spec
from builders.sources import FEW_SHOT, SOURCES

OPTIMAL = 'queries = "optimal"\n'
CUB = '[[dataset]]\nname = "cub"\nsource = "catalogue"\n'


def test_what_it_says(tmp_path: Path) -> None:
    spec = spec_in(
        tmp_path,
        HEAD
        + 'protocols = ["5w1s1q"]\nseed = 7\ntasks = { closed = 30 }\n'
        + CUB
        + '[[dataset]]\nname = "mine"\nsource = "image_folder"\nfolder = "x/y"\nseed = 8\n'
        + 'protocols = ["2w1s1q", "3w2s2q"]\nsuites = ["open"]\n'
        + '[dataset.options]\ntitle = "t"\n'
        + '[[dataset]]\nname = "dtd"\n',
    )
    cub, mine, dtd = spec.datasets
    assert (cub.source, cub.seed, dict(cub.tasks)) == ("catalogue", 7, {"closed": 30})
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


def test_a_suite_reads_protocols_as_its_task_sets_do(tmp_path: Path) -> None:
    """The queries of all classes at once are counted together; episodes may have no shots."""
    suites = CUB + 'suites = ["allway", "episodes"]\nprotocols = ["30w1s180q"]\n'
    names = CUB + 'task_sets = ["allway-30w1s180q", "episodes-30w1s180q"]\n'
    (listed,), (named,) = (spec_in(tmp_path, HEAD + text).datasets for text in (suites, names))
    assert listed.every_task_set == named.every_task_set


def test_what_is_listed_twice_by_the_choice_of_queries_is_there_once(tmp_path: Path) -> None:
    """Q* may be the protocol's own Q."""
    text = HEAD + OPTIMAL + CUB + 'protocols = ["5w3s3q", "5w3s", "5w1s"]\nsuites = ["open"]\n'
    text += 'task_sets = ["open-5w1s3q", "closed-5w3s3q", "closed-5w3s"]\n'
    (cub,) = spec_in(tmp_path, text).datasets
    names = [str(name) for name in cub.with_queries({(5, 3): 3, (5, 1): 3}).every_task_set]
    assert names == ["open-5w3s3q", "open-5w1s3q", "closed-5w3s3q"]


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
        (OPTIMAL + CUB + 'task_sets = ["allway-9w5s"]\n', "allway-9w5s says no number of queries"),
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


def test_what_is_wrong_for_every_data_set_is_of_none(tmp_path: Path) -> None:
    more = [f"{HEAD}tasks = {{ {tasks} }}\n" for tasks in ("closed = 0", "closd = 3")]
    for wrong in (*more, HEAD.replace("1.0.0", "0.1")):
        with pytest.raises(FSLBenchError) as caught:
            spec_in(tmp_path, wrong + CUB)
        assert caught.value.where.endswith(".toml")


def test_files_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="cannot read"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(UnknownNameError, match="did you mean 'embedded'"):
        find_spec(Path("embeded"))
    assert find_spec(tmp_path / "none.toml") == tmp_path / "none.toml"
    (tmp_path / "miniimagenet").mkdir()  # a raw folder, perhaps
    monkeypatch.chdir(tmp_path)
    assert find_spec(Path("miniimagenet")).is_file()


@pytest.mark.parametrize("name", ["embedded", "fewstab", "glyphs", "meta_dataset"])
def test_the_specifications_that_come_with_the_package(name: str) -> None:
    spec = read_spec(find_spec(Path(name)))
    assert spec.name == name
    for dataset in spec.datasets:
        assert dataset.source == "catalogue" or dataset.source in SOURCES
        assert dataset.with_queries(dict.fromkeys(dataset.left_open, 1)).every_task_set


# ---- of the data sets of few-shot papers --------------------------------------------------------

CLIP, DINO = "open_clip:ViT-B-16/openai", "timm:vit_base_patch14_dinov2.lvd142m"


def _recipe(name: str) -> ReleaseSpec:
    return read_spec(find_spec(Path(name)))


@pytest.mark.parametrize("name", FEW_SHOT)
def test_a_recipe_passes_preflight(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    shrink(monkeypatch, 30)
    weights: list[str] = []
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: weights.append(of))
    spec = _recipe(name)
    (dataset,) = spec.datasets
    assert (spec.name, dataset.name, dataset.source, dataset.folder) == (name,) * 4
    preflight.check_spec(spec, Settings())
    with pytest.raises(FSLBenchError, match=f"is not the raw folder of {name}"):
        preflight.check_there(spec, tmp_path, Settings())
    write_few_shot(name, tmp_path / name, {"novel": all_classes(name, 30)["novel"]})
    weights.clear()
    preflight.check_there(spec, tmp_path, Settings())
    assert weights == [CLIP, DINO]


@pytest.mark.parametrize("name", ["eurosat", "miniimagenet"])
def test_a_folder_that_is_not_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What --allow-missing leaves out is not asked for before anything is read."""
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    shrink(monkeypatch, 30)
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: None)
    classes = dict(all_classes(name, 30)["novel"])
    write_few_shot(name, tmp_path / name, {"novel": classes | {min(classes): 29}})
    with pytest.raises(FSLBenchError, match="--allow-missing leaves out and records what is miss"):
        preflight.check_there(_recipe(name), tmp_path, Settings())
    preflight.check_there(_recipe(name), tmp_path, Settings(), allow_missing=True)


def test_the_networks_are_known_to_their_packages() -> None:
    clip = pytest.importorskip("open_clip")
    assert "openai" in clip.list_pretrained_tags_by_model("ViT-B-16")
    timm = pytest.importorskip("timm")
    assert timm.list_pretrained(DINO.removeprefix("timm:"))
    named = {of for name in FEW_SHOT for d in _recipe(name).datasets for of in d.features}
    assert named == {CLIP, DINO}
