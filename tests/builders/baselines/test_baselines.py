"""Heads, fine-tuning of a tiny network, and both as submissions."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
import reference_heads
from msgspec.structs import replace
from numpy.testing import assert_allclose, assert_array_equal
from tiny_features import build_pictures

from benchmark_spec.errors import MethodFailedError, SpecError, UnknownNameError
from builders.baselines import HEADS, Predictor, run_ft, run_head
from builders.baselines import heads as heads_module
from builders.baselines.fine_tuning import FineTuner
from builders.baselines.heads import linear_probe, matching_net, ncc, unit_vectors
from builders.features.backbone import TOLERANCE, Preprocessing
from builders.release.results import with_right_queries
from fslbench_data import score
from fslbench_data.release.release import load_release
from fslbench_data.submission.columns import canonical
from fslbench_data.validation.validate import validate

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


def draw(rng, way, shot, dimensions, *, tasks=4):
    """Features float16 (N, D) of noisy classes with a common direction, support and query ids."""
    classes, each = way + 2, shot + 8
    mean = rng.normal(size=(classes, dimensions)) * 0.5 + 2 * rng.normal(size=dimensions)
    features = np.repeat(mean, each, axis=0) + rng.normal(size=(classes * each, dimensions))
    chosen = np.stack([rng.choice(classes, way, replace=False) for _ in range(tasks)])
    images = rng.permuted(np.tile(np.arange(each), (tasks, way, 1)), axis=2)
    ids = chosen[..., None] * each + images
    return features.astype(np.float16), ids[..., :shot], ids[..., shot:].reshape(tasks, -1)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("way", "shot", "dimensions"), [(2, 1, 3), (5, 5, 40), (20, 3, 16)])
def test_best_two_are_those_of_plain_heads(head, way, shot, dimensions):
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    features, support, query = draw(np.random.default_rng(way), way, shot, dimensions)
    predict = Predictor(head, features)
    found = predict.best(support, query)
    assert (found.dtype, found.shape) == (np.int64, (*query.shape, 2))
    assert_array_equal(found[..., 0], predict(support, query))
    for task in range(len(support)):
        scores = reference_heads.HEADS[head](features[support[task]], features[query[task]])
        clear = np.diff(np.sort(scores, axis=1)[:, -3:], axis=1).min(axis=1) > 1e-6
        assert clear.mean() > 0.8
        assert_array_equal(found[task, clear], np.argsort(-scores, axis=1)[clear, :2])


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_any_number_of_tasks_at_once(head, most, monkeypatch):
    features, support, query = draw(np.random.default_rng(0), 5, 2, 32, tasks=7)
    expected = Predictor(head, features)(support, query)
    monkeypatch.setattr(heads_module, "MOST_TASKS", most)
    assert_array_equal(Predictor(head, features)(support, query), expected)
    monkeypatch.setattr(heads_module, "CPU_BYTES", 1)
    assert_array_equal(Predictor(head, features)(support, query), expected)
    assert Predictor(head, features)(support[:0], query[:0]).shape == (0, query.shape[1])


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_lengths_and_types_of_features_change_nothing(head, kind):
    features, support, query = draw(np.random.default_rng(1), 4, 3, 24)
    expected = Predictor(head, features)(support, query)
    longer = features * np.random.default_rng(2).choice([0.5, 2.0, 4.0], (len(features), 1))
    assert_array_equal(Predictor(head, longer.astype(kind))(support, query), expected)


@pytest.mark.parametrize("head", ["NCC", "MatchingNet"])
def test_float64_decides_what_float32_cannot(head, monkeypatch):
    features = np.array([[1.0, 1.0], [1.0, 1 + 1e-9], [1.0, 1 + 2e-9], [-1.0, 1.0], [1.0, -1.0]])
    support = np.array([[[0], [1], [2]], [[1], [2], [0]]])
    query = np.array([[3, 4], [4, 3]])
    predict = Predictor(head, features)
    assert predict(support, query).tolist() == [[2, 0], [2, 1]]
    assert predict(support[:1], query[:1]).tolist() == [[2, 0]]
    monkeypatch.setattr(heads_module, "CLOSE", 0.0)
    assert predict(support, query).tolist() != [[2, 0], [2, 1]]


@pytest.mark.parametrize("head", HEADS)
def test_equal_classes_and_zero_features(head):
    """One of the equal classes; of vectors of zeros, the first ones."""
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    found = Predictor(head, features)(np.array([[[0], [3], [1]]]), np.array([[0, 1, 3]]))
    assert found[0, 1] == 2
    assert found[0, 0] in (0, 1)
    assert found[0, 2] in (0, 1)
    nothing = Predictor(head, np.zeros((4, 4), np.float16))
    task = np.array([[[0], [1], [2]]]), np.array([[3]])
    assert nothing(*task).tolist() == [[0]]
    assert nothing.best(*task).tolist() == [[[0, 1]]]


def test_refusals():
    with pytest.raises(UnknownNameError, match="did you mean 'NCC'"):
        Predictor("ncc", np.zeros((2, 2)))
    for features, said in (
        (np.zeros((2, 2), int), "int64"),
        (np.zeros(2), r"\(2,\)"),
        (np.array([[0.0], [np.inf]]), "image 1 are not finite"),
        (np.array([[np.nan], [0.0]]), "image 0 are not finite"),
    ):
        with pytest.raises(SpecError, match=said):
            Predictor("NCC", features)


def test_settings_of_the_process_are_left_alone():
    torch.set_float32_matmul_precision("high")
    try:
        features, support, query = draw(np.random.default_rng(3), 3, 1, 8)
        Predictor("NCC", features)(support, query)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_matching_net_by_hand():
    # a class of two opposite directions has a centroid far from either, and mean cosine 0.5
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
    ids, queries = torch.tensor([[[0, 1], [2, 3]]]), torch.tensor([[0, 1, 3]])
    scores = matching_net(unit_vectors(features), ids, queries)
    r = np.sqrt(0.5)
    assert_allclose(scores[0], [[0.5, 0.0], [0.5, r], [0.0, 0.5]], atol=1e-15)
    assert Predictor("MatchingNet", features)(ids.numpy(), queries.numpy()).tolist() == [[0, 1, 1]]


def test_centroids_are_easyfsls_prototypes():
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 12)) + 1
    support, query = rng.choice(60, (3, 5, 4)), rng.choice(60, (3, 20))
    scores = ncc(unit_vectors(features), torch.from_numpy(support), torch.from_numpy(query))
    peer = methods.PrototypicalNetworks(torch.nn.Identity(), feature_normalization=2.0)
    for task in range(3):
        images = torch.from_numpy(features[support[task]]).flatten(0, 1)
        peer.process_support_set(images, torch.arange(5).repeat_interleave(4))
        cosines = peer.cosine_distance_to_prototypes(torch.from_numpy(features[query[task]]))
        lengths = torch.from_numpy(np.linalg.norm(features[query[task]], axis=1, keepdims=True))
        assert_allclose(scores[task], cosines, atol=1e-14)
        assert lengths.min() > 0


def test_it_is_what_autograd_and_an_optimiser_do():
    for way, shot, dimensions in ((2, 1, 3), (5, 5, 40), (20, 2, 8), (3, 10, 5)):
        rng = np.random.default_rng(way)
        features = rng.normal(size=(60, dimensions)) + 1
        features[3] = 0.0
        support, query = rng.choice(60, (3, way, shot)), rng.choice(60, (3, 25))
        unit = unit_vectors(features)
        found = linear_probe(unit, torch.from_numpy(support), torch.from_numpy(query)).numpy()
        for task in range(3):
            expected = reference_heads.linear_probe(features[support[task]], features[query[task]])
            shift = expected.mean(axis=1, keepdims=True) - found[task].mean(axis=1, keepdims=True)
            assert_allclose(found[task] + shift, expected, atol=1e-12)


# ---- fine-tuning, against the same written down plainly; what it leaves behind -------------------
def network(seed=0):
    """Images (B, 3, 8, 8) to (B, 6): convolution, batch normalisation with a past, dropout."""
    torch.manual_seed(seed)
    made = torch.nn.Sequential(
        torch.nn.Conv2d(3, 5, 3, stride=2),
        torch.nn.BatchNorm2d(5),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(20, 6),
    )
    made(torch.randn(16, 3, 8, 8) * 3 + 1)  # in training mode: moves the statistics
    return made


def task(seed, way=3, shot=2):
    """Support (K, S, 3, 8, 8) and query (M, 3, 8, 8)."""
    torch.manual_seed(seed)
    mean = torch.randn(way, 3, 8, 8)
    support = mean[:, None] + 0.3 * torch.randn(way, shot, 3, 8, 8)
    return support, (mean[:, None] + torch.randn(way, 4, 3, 8, 8)).flatten(0, 1)


def plainly(module, support, query, rate):
    """Logits (M, K), with PyTorch's own schedule and two optimisers."""
    way, shot = support.shape[:2]
    module = deepcopy(module).eval()
    layer = torch.nn.Linear(6, way)
    layer.weight.data.fill_(1.0)
    layer.bias.data.fill_(0.0)
    target = torch.arange(way).repeat_interleave(shot)
    parts = ((module, rate), (layer, 0.1))
    optimisers = [torch.optim.SGD(part.parameters(), lr=lr, momentum=0.9) for part, lr in parts]
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(each, 30) for each in optimisers]
    for _ in range(30):
        for each in optimisers:
            each.zero_grad()
        features = torch.nn.functional.normalize(module(support.flatten(0, 1)), dim=1)
        torch.nn.functional.cross_entropy(layer(features), target).backward()
        for each in (*optimisers, *schedules):
            each.step()
    with torch.no_grad():
        return layer(torch.nn.functional.normalize(module(query), dim=1))


@pytest.mark.parametrize("rate", [1e-4, 0.05])
def test_it_is_what_the_paper_does(rate):
    module, (support, query) = network(), task(1)
    found = FineTuner(module, rate=rate).scores(support, query)
    expected = plainly(module, support, query, rate)
    assert_allclose(found, expected, atol=2e-5)
    predictions = FineTuner(module, rate=rate)(support, query)
    assert predictions.dtype == np.int64
    assert_array_equal(predictions, expected.argmax(dim=1))


def test_every_task_starts_from_the_same_weights():
    module = network()
    before = deepcopy(module.state_dict())
    tuner = FineTuner(module, rate=0.05)
    first = tuner.scores(*task(3))
    assert tuner.scores(*task(4, way=5, shot=1)).shape == (20, 5)
    assert torch.equal(tuner.scores(*task(3)), first)
    assert torch.equal(FineTuner(module, rate=0.05).scores(*task(3)), first)
    assert module.training  # as it was given
    for name, values in module.state_dict().items():
        assert torch.equal(values, before[name]), name


def test_frozen_weights_are_trained_too_and_gradients_may_be_off():
    module, (support, query) = network(), task(6)
    expected = FineTuner(module, rate=0.05).scores(support, query)
    with torch.no_grad():
        found = FineTuner(module.requires_grad_(False), rate=0.05).scores(support, query)
    assert torch.equal(found, expected)


def test_many_queries_and_failures():
    module, (support, query) = network(), task(7)
    tuner = FineTuner(module, rate=0.05)
    expected = tuner.scores(support, query)
    many = tuner.scores(support, query.repeat(20, 1, 1, 1))
    assert_allclose(many, expected.repeat(20, 1), atol=1e-6)
    with pytest.raises(RuntimeError):
        tuner.scores(support, query[:, :2])  # two colours: training is over by then
    assert torch.equal(tuner.scores(support, query), expected)
    with pytest.raises(SpecError, match=r"\(6, 5, 3, 3\) of 6 images"):
        FineTuner(network()[:1])(*task(8))


def test_which_queries_are_right_stands_in_place_of_predictions(embedded):
    names = ["closed-5w1s1q", "pooled-5w1s1q", "allway-10w16s1637q", "episodes-10w100s10q"]
    found = run_head(embedded, "NCC", "pixels", ["digits"], task_sets=names)
    method = found.methods["pixels/NCC"]
    assert (method.backbone, method.description) == ("pixels", HEADS["NCC"].description)
    order = np.random.default_rng(0).permutation(len(found.table))
    found = replace(found, table=found.table.take(order))
    kept = with_right_queries(found, embedded)
    assert kept.table.equals(canonical(kept.table, "x"))
    before, after = found.table.to_pylist(), kept.table.to_pylist()
    sets = {name: embedded.task_set("digits", name) for name in names}
    for old, new in zip(before, after, strict=True):
        predicted, by_class = old.pop("predictions"), old.pop("class_correct")
        is_pooled = old["task_set"].startswith("pooled")
        assert new.pop("class_correct") == (None if is_pooled else by_class)
        if old["task_set"].startswith("allway"):
            assert (new.pop("predictions"), new.pop("correct")) == (predicted, None)
            assert len(old["second"]) == len(predicted)  # the second-best class of each query
        else:
            label = sets[old["task_set"]][old["task_id"]].query_label
            assert new.pop("predictions") is None
            assert new.pop("correct") == (label == predicted).astype(int).tolist()
        assert new == old
    told = []
    for one in (found, kept):
        methods = {"pixels/NCC": replace(one.methods["pixels/NCC"], inductive=True)}
        checked = validate(replace(one, methods=methods), embedded, taken=())
        told.append({str(g.info): g.right and g.right.counts.tolist() for g in checked.groups})
    assert told[0] == told[1]
    assert all(told[0].values())


@pytest.fixture(scope="module")
def tiny():
    """A backbone such as run_ft takes, of pictures made 8 by 8."""

    def reference(picture):
        return np.asarray(picture.resize((8, 8)), np.float32).transpose(2, 0, 1) / 255

    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    module = torch.nn.Sequential(*layers, torch.nn.Linear(144, 8))
    how = SimpleNamespace(reference=reference)
    return SimpleNamespace(name="tiny", module=module, preprocessing=how)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A release of 4 classes with 8 pictures each, and the folder that they lie in."""
    pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    base = tmp_path_factory.mktemp("pictures")
    task_sets = ("open-2w2s1q", "open-3w1s1q")
    return load_release(build_pictures(base, 8, task_sets=task_sets)), base / "raw/tiny"


@pytest.mark.slow
def test_ft_of_pictures(pictures, tiny):
    from PIL import Image

    release, folder = pictures
    found = run_ft(release, tiny, folder, "tiny")
    assert found.methods["tiny/FT"].backbone == "tiny"
    assert {row["task_set"] for row in found.table.to_pylist()} == {"open-2w2s1q", "open-3w1s1q"}
    assert score(found, release)
    tune, paths = FineTuner(tiny.module), release.images("tiny")["path"].to_pylist()
    shown = np.stack([tiny.preprocessing.reference(Image.open(folder / path)) for path in paths])
    for row in found.table.to_pylist():
        task = release.task_set("tiny", row["task_set"])[row["task_id"]]
        support, query = (torch.from_numpy(shown[ids]) for ids in (task.support, task.query))
        expected = tune(support, query)
        assert_array_equal(row["predictions"], expected)
        right = task.query_label[expected == task.query_label]
        assert row["class_correct"] == np.bincount(right, minlength=len(task.class_ids)).tolist()


def test_ft_of_the_first_tasks_goes_on_where_it_stopped(pictures, tiny, tmp_path, monkeypatch):
    release, folder = pictures
    journal = tmp_path / "journal"
    whole = run_ft(release, tiny, folder, "tiny", "open-2w2s1q")
    some = run_ft(release, tiny, folder, "tiny", "open-2w2s1q", max_tasks=2, journal=journal)
    assert some.table.equals(whole.table.slice(0, 2))
    assert [binding.tasks for binding in some.bindings.values()] == [2]
    assert score(some, release)
    calls = []
    answer = FineTuner.__call__

    def breaks(self, *task):
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("power cut")
        return answer(self, *task)

    monkeypatch.setattr(FineTuner, "__call__", breaks)
    with pytest.raises(MethodFailedError, match=r"power cut(.|\n)*task 3"):
        run_ft(release, tiny, folder, "tiny", "open-2w2s1q", journal=journal)
    resumed = run_ft(release, tiny, folder, "tiny", "open-2w2s1q", journal=journal)
    assert len(calls) == len(whole.table) - 2 + 1
    resumed.write(tmp_path / "resumed.parquet")
    whole.write(tmp_path / "whole.parquet")
    made = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("resumed", "whole")]
    assert made[0] == made[1]


# ---- the same on a GPU, where there is one -------------------------------------------------------
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@on_a_gpu
@pytest.mark.parametrize("head", HEADS)
def test_predictions_are_those_of_the_cpu(head, embedded):
    features = embedded.features("digits", "pixels")
    tasks = embedded.task_set("digits", "closed-5w5s5q")
    cpu, gpu = (Predictor(head, features, device) for device in ("cpu", "cuda"))
    assert_array_equal(gpu(tasks.support, tasks.query), cpu(tasks.support, tasks.query))


@on_a_gpu
def test_fine_tuning_is_that_of_the_cpu_and_repeats_itself(tiny):
    module, support, query = tiny.module, torch.randn(3, 2, 3, 8, 8), torch.randn(9, 3, 8, 8)
    before = torch.backends.cudnn.deterministic, torch.are_deterministic_algorithms_enabled()
    tuner = FineTuner(module, "cuda", rate=0.05)
    first = tuner.scores(support, query)
    assert torch.equal(tuner.scores(support, query), first)
    assert_allclose(first.cpu(), FineTuner(module, rate=0.05).scores(support, query), atol=1e-4)
    after = torch.backends.cudnn.deterministic, torch.are_deterministic_algorithms_enabled()
    assert after == before
    assert np.isfinite(first.cpu().numpy()).all()


@on_a_gpu
def test_pictures_are_resized_as_by_the_products_of_the_cpu():
    chance = np.random.default_rng(0)
    sizes = [(300, 500), (41, 640), (80, 90), (256, 256), (7, 9), (248, 248)]
    levels = [chance.integers(0, 256, (3, *size), dtype=np.uint8) for size in sizes]
    pictures = [torch.from_numpy(of_one) for of_one in levels]
    for kind in ("bilinear", "bicubic"):
        for how in (
            Preprocessing((248, 248), (224, 224), kind, (0.0,) * 3, (1.0,) * 3, white=255),
            Preprocessing((20, 24), (22, 17), kind, (0.0,) * 3, (1.0,) * 3, "long", 255, (9, 8, 7)),
        ):
            found = how.batch([picture.cuda() for picture in pictures]).cpu()
            off = (found - how.batch(pictures)).abs()
            assert off.max() <= TOLERANCE
            assert (off > 0).float().mean() < 0.002
