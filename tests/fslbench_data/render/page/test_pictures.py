"""Hard tasks in pictures: which tasks, which images, how much of a page, and without any."""

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest
from commands import invoke, printed
from elements import Elements
from msgspec.structs import replace
from tiny_features import write_pictured_release

from benchmark_spec.errors import SourceError, UnknownNameError
from benchmark_spec.manifest import Dataset
from fslbench_data import report_page
from fslbench_data.release.pictures import picture_paths, some_pictures, stored_pictures
from fslbench_data.release.release import load_release
from fslbench_data.render.page import pictures
from fslbench_data.render.templating import template
from fslbench_data.submission.merging import merge
from fslbench_data.submission.recorder import Recorder

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `report`")

CLOSED, BIASED = "closed-2w1s2q", "biased_pixels-2w1s2q"
HARDEST = {CLOSED: 3, BIASED: 1}
"""What the results answer worst."""
HOSTILE = "</script><img src=x onerror=alert(1)>{{ packed }} \"b\" & 'c'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_pictured_release(tmp_path_factory.mktemp("pictured"))


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        assets = str(tmp_path_factory.mktemp("assets"))
        patch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", assets)
        yield load_release(folder)


@pytest.fixture(scope="module")
def page(release, results):
    """The page as it is unasked, since the release is on disk."""
    return report_page(results, release=release).text


@pytest.fixture(scope="module")
def results(release):
    """Two methods with all answers right but those of one task of each set."""
    parts = []
    for name, right in (("good", 2), ("bad", 1)):
        recorder = Recorder(name)
        for info in release.task_sets:
            labels = release.query_labels(info)
            wrong = np.argsort(labels[HARDEST.get(str(info.name), 0)])[: 4 - right]
            answers = labels.copy()
            answers[HARDEST.get(str(info.name), 0), wrong] ^= 1
            recorder.add_task_set(release.task_set(info.dataset, str(info.name)), answers)
        parts.append(recorder.submission())
    return merge(parts)


def _pictures(block):
    for image in block.images:
        head, _, data = image["src"].partition(",")
        assert head == "data:image/webp;base64"
        yield image["alt"], Image.open(io.BytesIO(base64.b64decode(data)))


def _section(text):
    return re.findall('<section class="wide" id="pictures".*?</section>', text, re.DOTALL)[0]


def _block(text, task_set):
    blocks = re.split(r'(?=<div class="task")', _section(text))
    (block,) = (each for each in blocks if f'data-set="tiny/{task_set}"' in each)
    return block


def _info(release, task_set=CLOSED):
    return release.task_set_info("tiny", task_set)


def test_the_hardest_task_is_the_one_of_the_lowest_mean(release):
    shares = {
        "a": np.array([50.0, 25.0, 75.0, 25.0]),
        "b": np.array([0.0, 25.0, 0.0, 25.0]),
        "short": np.array([100.0, 100.0]),  # would make task 1 easier than task 3
    }
    task = pictures.hardest(_info(release), shares)
    assert (task.task_id, task.tasks, task.mean) == (0, 4, 25.0)  # of equal ones the first
    assert list(task.accuracies.items()) == [("a", 50.0), ("b", 0.0)]
    shares["b"][0] = 1.0
    assert pictures.hardest(_info(release), shares).task_id == 1


@pytest.mark.parametrize("task_set", [CLOSED, BIASED])
def test_the_page_shows_the_images_of_the_hardest_task(release, page, task_set):
    block = Elements(_block(page, task_set))
    number = HARDEST[task_set]
    assert (
        f"Task {number}, the hardest of {_info(release, task_set).n_tasks}: 2 methods answer "
        "37.5 % of its queries rightly on average, between 25.0 % (bad) and 50.0 % (good)."
    ) in block.text
    assert "T = 1, chosen for being hard: no interval" in block.text
    row = release.task_table(_info(release, task_set)).to_pylist()[number]
    names = release.classes("tiny").column("class_name").to_pylist()
    expected = []
    for k, class_id in enumerate(row["class_ids"]):
        asked = [i for i, label in zip(row["query"], row["query_label"], strict=True) if label == k]
        expected.append((f"{names[class_id]}, support", row["support"][k]))
        expected += [(f"{names[class_id]}, query", i) for i in asked]
    shown = list(_pictures(block))
    assert [alt.partition(":")[0] for alt, _ in shown] == [alt for alt, _ in expected]
    paths = stored_pictures(release, "tiny")
    for (_, picture), (_, image_id) in zip(shown, expected, strict=True):
        whole = Image.open(paths[image_id]).convert("RGB")
        assert picture.size == whole.size  # under 96 pixels
        near = np.abs(np.asarray(picture.convert("RGB")).astype(int) - np.asarray(whole)).mean()
        assert near < 12
    assert "Pictures: Tiny, https://example.org; CC0." in block.text


def test_attributes_stand_below_images(release, page):
    block = _block(page, BIASED)
    row = release.task_table(_info(release, BIASED)).to_pylist()[HARDEST[BIASED]]
    for attribute in row["attributes"]:
        assert f"shared: <b>{attribute}</b>" in block
    table = release.attributes("tiny", "pixels").column("attributes").to_pylist()
    words = [
        ", ".join(w for w in table[image.image_id] if w in row["attributes"])
        for shown in pictures.task_rows(release, _info(release, BIASED), HARDEST[BIASED])
        for image in (*shown.support, *shown.queries)
    ]
    assert [alt.partition(": ")[2] for alt, _ in _pictures(Elements(block))] == words
    captions = re.findall("<figcaption>(.*?)</figcaption>", block)
    assert [re.sub("</?b>", "", caption) for caption in captions] == words


def test_without_images_at_hand_the_page_is_as_ever(release, results, page, monkeypatch):
    monkeypatch.setattr("fslbench_data.release.folder.ReleaseFiles.hub", "org/name@0123456")
    without = report_page(results, release=release).text
    left = page.replace(_section(page), "")
    held = r'(?<=id="content">)[^<]*'  # it names the release
    assert re.sub(held, "", left).split() == re.sub(held, "", without).split()


@pytest.mark.slow
def test_what_is_refused(release, results, tmp_path):
    with pytest.raises(UnknownNameError, match="which holds none"):
        report_page((), datasets="digits", images=True)
    for path in picture_paths(release, "tiny", True):
        (tmp_path / path.name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{int(path.stem):08d}.png").write_bytes(b"no picture")
    with pytest.raises(SourceError, match=r"\.png cannot be read as a picture: no image of a kno"):
        report_page(results, release=release, images=tmp_path)


def test_the_command(release, results, folder, tmp_path):
    file, out = tmp_path / "results.parquet", tmp_path / "page"
    results.write(file)
    raw = str(folder.parent / "raw/tiny")
    common = ["report", str(file), "--release", str(folder), "-o"]
    pages = []
    for number, images in enumerate((["--images"], ["--images", raw])):
        printed(*common, f"{out}{number}", *images)
        pages.append((tmp_path / f"page{number}/index.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert _section(pages[0]).count("<img") == 2 * 6
    said = invoke(*common, f"{out}3", "--images", tmp_path)
    assert said.exit_code == 2
    assert "48 of 48 images of tiny are missing" in said.output
    assert not Path(f"{out}3").exists()


def _many(release):
    accuracies = {"a": 50.0, "b": 25.0}
    return [pictures.HardTask(info, 0, info.n_tasks, accuracies) for info in release.task_sets]


def test_pictures_have_their_share_of_a_page(release, monkeypatch):
    tasks = _many(release)
    names = [str(task.info) for task in tasks]
    whole = pictures.pictures_html(release, tasks, (), None)
    assert re.findall("<option>(.*?)</option>", whole) == names
    one = len(_block(whole, str(tasks[-1].info.name)).encode())
    monkeypatch.setattr(pictures, "MOST_BYTES", 2 * one + one // 2)
    some = pictures.pictures_html(release, tasks, names[-1:], None)
    shown = re.findall("<option>(.*?)</option>", some)
    assert shown == [names[0], names[-1]]  # what comes first is there, in the page's order
    assert f"{len(names) - 2} more task sets have none" in some
    assert sum(map(len, re.split('(?=<div class="task")', some)[1:])) <= 2 * one + one // 2
    monkeypatch.setattr(pictures, "MOST_PICTURES", 17)  # six a task
    assert pictures.pictures_html(release, tasks, (), None).count('<div class="task"') == 2


def test_large_tasks_are_cut_and_say_so(release, monkeypatch):
    for most in ("MOST_IMAGES", "MOST_CLASSES"):
        monkeypatch.setattr(pictures, most, 1)
    block = Elements(_block(pictures.pictures_html(release, _many(release), (), None), CLOSED))
    assert len(list(_pictures(block))) == 2
    assert "classes, the first 1 of 2" in block.text
    assert "queries, the first 1 of 2" in block.text
    assert "support, the first" not in block.text


def test_thumbnails_of_anything_are_small():
    """Even of noise: with the limit on bytes a page stays under its 15 MB."""
    noise = np.random.default_rng(0).integers(0, 256, (300, 200, 4), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "PNG")
    small = pictures.thumbnail(file.getvalue(), 96, "noise")
    assert (small.width, small.height) == (64, 96)
    assert len(small.address) < 10_000


def test_an_image_that_may_not_be_passed_on_has_none(release, monkeypatch):
    missing = pictures.task_rows(release, _info(release), 0)[1].queries[0].image_id
    held = [(i, data) for i, data in some_pictures(release, "tiny", range(48)) if i != missing]
    monkeypatch.setattr(pictures, "some_pictures", lambda *_: held)
    block = _block(pictures.pictures_html(release, _many(release), (), None), CLOSED)
    assert block.count("may not be passed on") == 1
    assert block.count("<img") == 5


def test_names_are_text_whatever_they_hold(release):
    task = replace(_many(release)[0], accuracies={HOSTILE: 50.0, f"{HOSTILE}2": 25.0})
    one, other = pictures.TaskImage(0, (HOSTILE,)), pictures.TaskImage(1)
    rows = [pictures.ClassRow(HOSTILE, HOSTILE, True, (one,), (other,))]
    about = Dataset("tiny", HOSTILE, HOSTILE, HOSTILE, "", 1, 2, "")
    small = {0: pictures.Thumbnail("data:image/webp;base64,AA==", 8, 8)}
    credits_of = {0: (HOSTILE, ""), 1: (HOSTILE, HOSTILE)}
    tasks = {HOSTILE: pictures.task_html(task, rows, small, about, credits_of)}
    section = template("render/page/templates/pictures.html.j2")
    parts = Elements(section.render(tasks=tasks, left=0, images=5, pictures=1000, megabytes=2.0))
    assert [image["alt"] for image in parts.images] == [f"{HOSTILE}, support: {HOSTILE}"]
    assert "onerror" not in parts.attributes
    assert "script" not in parts.tags
    assert parts.text.count(HOSTILE) >= 12


@pytest.fixture
def pictured_page(page, tmp_path):
    (path := tmp_path / "index.html").write_text(page, encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1300])
def test_pictures_follow_what_is_chosen(open_page, pictured_page, width):
    tab = open_page(file=pictured_page, width=width)
    shown = tab.page.locator("#pictures .task:visible")
    assert shown.count() == 1
    assert shown.get_attribute("data-set") == f"tiny/{CLOSED}"
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    loaded = "all => all.every(e => e.naturalWidth > 0 && e.clientWidth > 0)"
    assert shown.locator("img").evaluate_all(loaded)
    tab.choose("pictured", f"tiny/{BIASED}")
    assert shown.count() == 1
    assert shown.locator("figcaption").count() == 6
    tab.page.evaluate(f"location.hash = '#dataset=tiny&task_set={CLOSED}'")
    tab.page.wait_for_function(f"document.getElementById('pictured').value === 'tiny/{CLOSED}'")
    assert shown.get_attribute("data-set") == f"tiny/{CLOSED}"
    assert tab.errors == []
    assert not [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(open_page, pictured_page, axe, scheme):
    tab = open_page(file=pictured_page, scheme=scheme)
    tab.choose("pictured", f"tiny/{BIASED}")
    for summary in tab.page.locator("#pictures .task:visible summary").all():
        summary.click()
    assert axe(tab, "#pictures") == []
