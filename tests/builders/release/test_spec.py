"""SPEC.toml: what it says and may not say, refusals before work, and how a first one is written."""

import hashlib
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import build as called
from few_shot_folders import all_classes, shrink, write_few_shot
from specs import HEAD, spec_in
from tiny_features import ABOUT, write_pictures
from tiny_features import OPTIONS as OF_FEATURES

from benchmark_spec import errors
from builders.cli import main
from builders.features import Settings
from builders.release import preflight
from builders.release.build import build_release
from builders.release.spec_file import find_spec, first_spec, read_spec
from builders.sources import FEW_SHOT, SOURCES
from fslbench_data.release.release import load_release

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

OPTIMAL = 'queries = "optimal"\n'
CUB = '[[dataset]]\nname = "cub"\nsource = "catalogue"\n'


def test_what_it_says(tmp_path):
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


def test_task_sets_by_name_and_ladders(tmp_path):
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


def test_a_suite_reads_protocols_as_its_task_sets_do(tmp_path):
    """The queries of all classes at once are counted together; episodes may have no shots."""
    suites = CUB + 'suites = ["allway", "episodes"]\nprotocols = ["30w1s180q"]\n'
    names = CUB + 'task_sets = ["allway-30w1s180q", "episodes-30w1s180q"]\n'
    (listed,), (named,) = (spec_in(tmp_path, HEAD + text).datasets for text in (suites, names))
    assert listed.every_task_set == named.every_task_set
    preflight.check_there(spec_in(tmp_path, HEAD + names), None, Settings())  # as many as there are


def test_what_is_listed_twice_by_the_choice_of_queries_is_there_once(tmp_path):
    text = HEAD + OPTIMAL + CUB + 'protocols = ["5w3s3q", "5w3s", "5w1s"]\nsuites = ["open"]\n'
    text += 'task_sets = ["open-5w1s3q", "closed-5w3s3q", "closed-5w3s"]\n'
    (cub,) = spec_in(tmp_path, text).datasets
    names = [str(name) for name in cub.with_queries({(5, 3): 3, (5, 1): 3}).every_task_set]
    assert names == ["open-5w3s3q", "open-5w1s3q", "closed-5w3s3q"]


def test_its_digest_is_of_all_it_says_and_not_of_how(tmp_path):
    first = spec_in(tmp_path, HEAD + "seed = 3\n" + CUB + 'suites = ["open"]\n').digest
    same = HEAD + CUB + '# a remark\nseed = 3\nsuites = [\n"open"]\n'
    assert spec_in(tmp_path, same).digest == first
    other = HEAD + CUB + 'seed = 4\nsuites = ["open"]\n'
    assert spec_in(tmp_path, other).digest != first


def test_task_sets_and_attributes_that_it_may_not_list(tmp_path):
    for text, what in (
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
        (CUB + 'attributes = { Ab = "pixels" }\n', r"'Ab' cannot be the name(.|\n)*data set 1"),
        (CUB + 'attributes = { a_b = "pixels" }\n', "'a_b' cannot be the name of a set"),
        (CUB + 'attributes = { a = "nothing" }\n', "'nothing' is no recipe"),
    ):
        with pytest.raises(errors.FSLBenchError, match=what):
            spec_in(tmp_path, HEAD + text)


def test_what_is_wrong_for_every_data_set_is_of_none(tmp_path):
    more = [f"{HEAD}tasks = {{ {tasks} }}\n" for tasks in ("closed = 0", "closd = 3")]
    for wrong in (*more, HEAD.replace("1.0.0", "0.1")):
        with pytest.raises(errors.FSLBenchError) as caught:
            spec_in(tmp_path, wrong + CUB)
        assert caught.value.where.endswith(".toml")


def test_files_that_are_not_there(tmp_path, monkeypatch):
    with pytest.raises(errors.SpecError, match="cannot read"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(errors.UnknownNameError, match="did you mean 'embedded'"):
        find_spec(Path("embeded"))
    assert find_spec(tmp_path / "none.toml") == tmp_path / "none.toml"
    (tmp_path / "miniimagenet").mkdir()  # a raw folder, perhaps
    monkeypatch.chdir(tmp_path)
    assert find_spec(Path("miniimagenet")).is_file()


def test_the_specification_of_the_docs(root, tmp_path):
    page = (root / "docs/releases.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n# icons.toml\n(.*?)```", page, re.DOTALL)
    (tango,) = spec_in(tmp_path, text).datasets
    assert (tango.name, tango.features) == ("tango", ("efficientnet_lite0",))


def test_the_release_in_the_package_names_its_specification(embedded):
    recipe = f"{_recipe('embedded').digest} cpu float32"
    assert embedded.manifest.specification == hashlib.sha256(recipe.encode()).hexdigest()


@pytest.mark.parametrize("name", ["embedded", "fewstab", "glyphs", "meta_dataset"])
def test_the_specifications_that_come_with_the_package(name):
    spec = read_spec(find_spec(Path(name)))
    assert spec.name == name
    for dataset in spec.datasets:
        assert dataset.source == "catalogue" or dataset.source in SOURCES
        assert dataset.with_queries(dict.fromkeys(dataset.left_open, 1)).every_task_set


# ---- of the data sets of few-shot papers --------------------------------------------------------
CLIP, DINO = "open_clip:ViT-B-16/openai", "timm:vit_base_patch14_dinov2.lvd142m"


def _recipe(name):
    return read_spec(find_spec(Path(name)))


@pytest.mark.parametrize("name", FEW_SHOT)
def test_recipes_pass_preflight(name, tmp_path, monkeypatch):
    shrink(monkeypatch, 30)
    weights = []
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: weights.append(of))
    spec = _recipe(name)
    (dataset,) = spec.datasets
    assert (spec.name, dataset.name, dataset.source, dataset.folder) == (name,) * 4
    preflight.check_spec(spec, Settings())
    with pytest.raises(errors.FSLBenchError, match=f"is not the raw folder of {name}"):
        preflight.check_there(spec, tmp_path, Settings())
    write_few_shot(name, tmp_path / name, {"novel": all_classes(name, 30)["novel"]})
    weights.clear()
    preflight.check_there(spec, tmp_path, Settings())
    assert weights == [CLIP, DINO]


@pytest.mark.parametrize("name", ["eurosat", "miniimagenet"])
def test_a_partial_folder(name, tmp_path, monkeypatch):
    """What --allow-missing leaves out is not asked for before anything is read."""
    shrink(monkeypatch, 30)
    monkeypatch.setattr(preflight, "check_weights", lambda of, folder: None)
    classes = dict(all_classes(name, 30)["novel"])
    write_few_shot(name, tmp_path / name, {"novel": classes | {min(classes): 29}})
    said = "--allow-missing leaves out and records what is miss"
    with pytest.raises(errors.FSLBenchError, match=said):
        preflight.check_there(_recipe(name), tmp_path, Settings())
    preflight.check_there(_recipe(name), tmp_path, Settings(), allow_missing=True)


def test_the_networks_are_known_to_their_packages():
    assert "openai" in pytest.importorskip("open_clip").list_pretrained_tags_by_model("ViT-B-16")
    assert pytest.importorskip("timm").list_pretrained(DINO.removeprefix("timm:"))
    named = {of for name in FEW_SHOT for d in _recipe(name).datasets for of in d.features}
    assert named == {CLIP, DINO}


# ---- everything that can be refused is refused before work ---------------------------------------
CATALOGUE = f'{HEAD}[[dataset]]\nname = "cub"\nsource = "catalogue"\nsuites = ["open"]\n'
CATALOGUE += 'protocols = ["5w1s1q"]\n'
TINY = '[[dataset]]\nname = "tiny"\nsource = "image_folder"\nsuites = ["open"]\n'
TINY += 'protocols = ["2w1s1q"]\n'
OPTIONS = OF_FEATURES.replace('redistribution = "features"\n', "")
LITE = 'features = ["efficientnet_lite0"]\n'
NETWORK = 'queries = { seeds = 2 }\nbackbones = ["mobilenet_v2"]\nheads = ["NCC"]\n'
OF_OPEN = "{ features = ['efficientnet_lite0'], heads = ['NCC'] }"
ASKED = 'task_sets = ["open-2w1s"]\n'
ALLWAY = 'task_sets = ["allway-4w1s4q"]\ntasks = { allway = 2 }\n'
EPISODES = 'task_sets = ["episodes-5w5s5q"]\ntasks = { closed = 9 }\n'


def _first(lines):
    return f"{CATALOGUE}{lines}\n"


def _after(dataset):
    return _first(f"[[dataset]]\n{dataset}")


def _digits(rule):
    how = 'features = ["pixels"]\nsuites = ["open"]\nprotocols = ["5w5s"]'
    return _after(f'name = "digits"\n{how}\nqueries = {{ {rule} }}')


def _tiny(of_dataset="", of_options=""):
    return f"{CATALOGUE}{TINY}{of_dataset}{OPTIONS}{of_options}"


def _option(line):
    return _tiny(of_options=line)


def _tuned(backbone, task_set, more=""):
    tuning = f'backbones = ["{backbone}"], task_sets = ["{task_set}"]'
    return _tiny(f"fine_tuning = {{ {tuning} }}\n{more}")


CASES = (
    (_tiny().replace('"tiny"', '"none"'), "there is no folder"),
    (_option('groups = "none.csv"'), "list of groups, none.csv"),
    (_option('groups = "bad_groups.csv"'), "are no images"),
    (_option('texts = "bad_texts.csv"'), "are no images"),
    (_option('texts = "no_texts.csv"'), "lists no image"),
    (_option('texts = "few_texts.csv"'), "19 of 20 images are not"),
    (_option('texts = "headless.csv"'), "the header is"),
    (_option('superclasses = "bad_kinds.csv"'), "class_"),
    (_option('titel = "b"'), "did you mean 'title'"),
    (_tiny('task_sets = ["open-2w5s2q"]\n'), "no 2w5s2q task can be drawn"),
    (CATALOGUE.replace("5w1s1q", "5w1s99q"), "no 5w1s99q task"),
    (_tiny(f'task_sets = ["open-4w4s"]\n{NETWORK}'), "no number of queries can be chosen for 4w4s"),
    (_first('features = ["a"]\npictures = 16\ntest = "b"'), "takes no features or pictures or"),
    (_tiny("pictures = 16\n"), "its licence does not let them be passed on"),
    (_after('name = "digits"\npictures = 16'), "its licence does not let them be passed on"),
    (_tiny(LITE), "weights of efficientnet_lite0 come in the package"),
    (_tiny(LITE.replace("0", "0-pca8")), "come in the package"),
    (_tuned("mobilenet_v2", "open-2w1s1q"), "weights of mobilenet_v2 come in the package"),
    (_tiny('features = ["timm:resnet18@none.pt"]\n'), "there is no file none.pt"),
    (_tuned("pixels", "open-2w1s1q"), "pixels is no network"),
    (_tuned("mobilenet_v2", "open-2w2s1q", f'task_sets = ["open-2w2s"]\n{NETWORK}'), "no name yet"),
    (_tuned("mobilenet_v2", "episodes-5w5s5q", EPISODES), "cannot answer episodes-5w5s5q"),
    (_tiny(f'{LITE}heads = ["NC"]\n'), "did you mean 'NCC'"),
    (_tiny(f'{LITE}heads = ["NCC", "LR", "NCC"]\n'), "head NCC stands there twice"),
    (_tiny(f'{LITE}heads = ["LR"]\n{EPISODES}'), "LR cannot answer episodes"),
    (_tiny('backbones = ["mobilenet_v2"]\n'), "backbones are for reference methods"),
    (_tiny('backbones = ["timm:test_vit@x.pth-pca8"]\nheads = ["NCC"]\n'), "is a projection"),
    (_tiny('backbones = ["tiny"]\nheads = ["NCC"]\n'), "unknown backbone 'tiny'"),
    (_tuned("mobilenet_v2", "open"), "unknown task set"),
    (_tiny('attributes = { words = "given+textblob" }\n'), "tiny"),
    (_tiny(LITE).replace('"tiny"', '"canaries"').replace('Tiny"', 'T"'), "its canaries"),
    (_first('task_sets = ["grouped-5w1s1q"]'), "needs the groups"),
    (_after('name = "cubs"\nsource = "catalogue"'), "did you mean 'cub'"),
    (_after('name = "cubs"'), "did you mean 'cub'"),
    (_after('name = "dtd"\nsuites = ["open"]'), "raw folder of dtd"),
    (_after('name = "digits"\nfeatures = ["pixel"]'), "did you mean 'pixels'"),
    (_after('name = "digits"\ntask_sets = ["open_biased_x-3w2s2q"]'), "unknown attributes 'x'"),
    (_after('name = "digits"\nheads = ["NCC"]'), "heads need features"),
    (_after('name = "digits"\nfeatures = ["pixels"]\nheads = ["NCC"]'), "suites to run on"),
    (_after('name = "x"\nsource = "image_folder"'), "options are missing: title"),
    (_first('task_sets = ["published-5w1s1q"]\ntasks = { published = 5 }'), "are what they are"),
    (_first('drawn = ["open"]'), "open sets cannot be left out"),
    (_first('task_sets = ["closed-5w1s1q"]'), "needs a number of tasks"),
    (_digits('head = "nearest"'), "unknown head"),
    (_digits('suite = "closed"'), "without replacement"),
    (_first('queries.seeds = 2\ntask_sets = ["open-5w5s"]'), "cub has no features that could say"),
    (_first("tasks = { pooled = 5 }"), "no task set uses tasks = { pooled = 5 }"),
    (_tiny('drawn = ["pooled"]\n'), 'no task set uses drawn = ["pooled"]'),
    (_first('queries = "optimal"'), "no task set uses queries"),
    (_tiny('test = "class"\n'), "test is of sets with all classes at once"),
    (_tiny(f'test = "c"\n{ALLWAY}'), "begin with their class"),
    (_tiny(f"{LITE}heads = ['LR']\nmethods_of.open = {OF_OPEN}\n"), "that methods_of leaves"),
    (_tiny(f'{ASKED}queries.features = "pixels"\n'), "queries: `pixels` are the grey"),
    (_tiny(f'{ASKED}queries.features = "timm:test_vit@no.pt"\nqueries.suite="grouped"\n'), "no.pt"),
    (_tiny(f'{LITE}{ASKED}queries.dataset = "digits"\n'), "list it before this one"),
)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A folder of raw folders: `tiny` has five images of each of four classes, and wrong lists."""
    folder = tmp_path_factory.mktemp("raw")
    images = write_pictures(folder / "tiny", 5)
    (images / "bad_groups.csv").write_text("path,group\nnone.png,a\n")
    (images / "bad_texts.csv").write_text("path,text\nnone.png,a bird\n")
    (images / "no_texts.csv").write_text("path,text\n")
    (images / "few_texts.csv").write_text("path,text\nclass_0/0000.png,a bird\n")
    (images / "headless.csv").write_text("path;text\n")
    (images / "bad_kinds.csv").write_text("class,superclass\nclass_0,a\n")
    return folder


@pytest.mark.parametrize(("text", "said"), CASES, ids=[said for _, said in CASES])
def test_refusals(text, said, raw, tmp_path, monkeypatch):
    if "timm:" in text:
        pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
    spec, steps = spec_in(tmp_path, text), list[str]()
    monkeypatch.setattr("builders.sources.pictures.check_bytes", lambda *_: pytest.fail("opened"))
    with pytest.raises(errors.FSLBenchError, match=re.escape(said)):
        build_release(spec, tmp_path / "r", raw=raw, progress=steps.append)
    assert not steps
    assert not (tmp_path / "r").exists()


def test_a_package_is_missing(raw, tmp_path, monkeypatch):
    def require(module):
        raise errors.MissingPackageError(f"the package {module!r} is not installed")

    monkeypatch.setattr("builders.release.preflight.require", require)
    spec = spec_in(tmp_path, _tiny("pictures = 16\n", 'redistribution = "images"'))
    with pytest.raises(errors.MissingPackageError, match="'PIL'"):
        build_release(spec, tmp_path / "r", raw=raw)
    assert not (tmp_path / "r").exists()


def test_a_release_is_made_of_a_raw_folder_and_not_among_its_images(raw, tmp_path):
    for folder, place, said in (
        (raw / "tiny/r", raw, "is in the raw folder"),
        (tmp_path / "r", None, "tiny is read from a raw folder, and none is given"),
    ):
        with pytest.raises(errors.FSLBenchError, match=said):
            build_release(spec_in(tmp_path, _tiny()), folder, raw=place)
        assert not folder.exists()


# ---- from a folder of images to a release: a first specification, texts of one's own -------------
@pytest.fixture
def folder(tmp_path):
    """Images of six classes, with lists of groups, superclasses and texts."""
    images = write_pictures(tmp_path / "My Birds", 6, classes=6)
    paths = sorted(p.relative_to(images).as_posix() for p in images.rglob("*.??g"))
    groups = [f"{path},{path[:7]}-{number // 2}" for number, path in enumerate(paths)]
    (images / "groups.csv").write_text("path,group\n" + "\n".join(groups) + "\n")
    kinds = [f"class_{number},kind {number % 2}" for number in range(6)]
    (images / "superclasses.csv").write_text("class,superclass\n" + "\n".join(kinds) + "\n")
    texts = [f"{path},{'a red bird on a branch' * (n < 30)}" for n, path in enumerate(paths)]
    (images / "texts.csv").write_text("path,text\n" + "\n".join(texts) + "\n")
    return images


def _filled(text):
    """Fill in what only the owner knows, and take small protocols and no network."""
    text = text.replace('description = ""', 'description = "Birds."')
    for key in ("title", "homepage", "licence", "citation"):
        text = text.replace(f'{key} = ""', f'{key} = "{ABOUT[key]}"')
    text = text.replace('["5w1s", "5w5s"]', '["2w1s1q"]').replace('["5w1s"]', '["2w1s1q"]')
    return re.sub("(?m)^(features|heads|queries).*\n", "", text)


def test_from_a_folder_to_a_release(folder, tmp_path):
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    spec = tmp_path / "birds.toml"
    called(0, "init", folder, "-o", spec)
    text = spec.read_text()
    assert 'name = "my_birds"' in text
    assert 'folder = "My Birds"' in text
    assert 'suites = ["open", "closed", "pooled", "grouped"]' in text
    release = ("release", spec, "--raw", tmp_path, "-o", tmp_path / "r")
    assert "the description is empty" in called(2, *release).output
    spec.write_text(text.replace('description = ""', 'description = "Birds."'))
    assert "options are empty: title, homepage, licence, citation" in called(2, *release).output
    spec.write_text(_filled(text))
    assert not (tmp_path / "r").exists()
    called(0, *release)
    release = load_release(tmp_path / "r")
    assert release.superclasses("my_birds") == tuple(f"kind {n % 2}" for n in range(6))
    suites = {info.name.suite for info in release.task_sets}
    assert suites == {"open", "closed", "pooled", "grouped"}


def test_attributes_are_words_of_own_texts(folder, tmp_path):
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    spec, out = tmp_path / "birds.toml", tmp_path / "titles.parquet"
    called(0, "init", folder, "-o", spec)
    spec.write_text(_filled(spec.read_text()))
    how = ("--spec", spec, "--raw", tmp_path, "--recipe", "given+textblob", "-o", out)
    called(0, "attributes", "my_birds", *how)
    rows = pq.read_table(out).to_pylist()
    assert rows[0]["text"] == "a red bird on a branch"
    assert "bird" in rows[0]["attributes"]
    assert (rows[35]["text"], rows[35]["attributes"]) == (None, [])


@pytest.mark.parametrize(
    ("images", "protocols"), [(6, '["5w1s1q"]'), (9, '["5w1s"]'), (26, '["5w1s", "5w5s"]')]
)
def test_it_asks_for_what_the_images_allow(tmp_path, images, protocols):
    """A number of queries is chosen only where three tasks of two queries can be drawn."""
    text = first_spec(write_pictures(tmp_path / "a b" / "birds", images, classes=6))
    assert f"protocols = {protocols}" in text
    assert f"--raw '{tmp_path / 'a b'}'" in text
    options = set(re.findall(r"--[a-z-]+", text.split("\n\n")[0].split("name =")[0]))
    (release,) = (command for name, command in main.commands.items() if name == "release")
    assert options <= {option for parameter in release.params for option in parameter.opts}


def test_one_class_is_no_data_set(tmp_path):
    with pytest.raises(errors.SourceError, match="one class gives no tasks"):
        first_spec(write_pictures(tmp_path / "birds", 9, classes=1))


def test_what_cannot_be_published_is_said_before_work(folder, tmp_path):
    spec = tmp_path / "birds.toml"
    called(0, "init", folder, "-o", spec)
    (tmp_path / "none").mkdir()
    text = _filled(spec.read_text()).replace("\nsuites", '\nattributes = { p = "pixels" }\nsuites')
    for more, said in (("", True), ('redistribution = "features"\n', False)):
        spec.write_text(text.replace("[dataset.options]\n", f"[dataset.options]\n{more}"))
        made = called(2, "release", spec, "--raw", tmp_path / "none", "-o", tmp_path / "r")
        assert ("my_birds: `publish` will refuse" in made.output) == said
