import json
from collections import Counter
from pathlib import Path

import pytest

from benchmark_spec.catalogue import catalogue, lookup
from benchmark_spec.errors import UnknownNameError

# Lafargue et al. (TMLR 2024), Table 2, and the two sizes that it misreports (13,463 and 39,252)
IMAGES = {
    "aircraft": 1500,
    "cub": 1770,
    "dtd": 840,
    "fungi": 13116,
    "mscoco": 151545,
    "omniglot": 13180,
    "quickdraw": 7710295,
    "traffic_signs": 39209,
    "vgg_flower": 1425,
}
CLASSES = {
    "aircraft": 15,
    "cub": 30,
    "dtd": 7,
    "fungi": 200,
    "mscoco": 40,
    "omniglot": 659,
    "quickdraw": 52,
    "traffic_signs": 43,
    "vgg_flower": 16,
}


def test_counts_of_the_nine_test_splits() -> None:
    assert {name: lookup(name).n_images for name in IMAGES} == IMAGES
    assert {name: len(lookup(name).class_names) for name in CLASSES} == CLASSES


def test_every_entry_is_whole() -> None:
    for dataset in catalogue().values():
        assert len(dataset.class_names) == len(dataset.class_sizes)
        assert len(set(dataset.class_names)) == len(dataset.class_names)
        assert min(dataset.class_sizes) > 0
        assert dataset.citation.startswith("@")
        assert dataset.licence
        assert dataset.homepage.startswith("http")


def test_whose_features_may_be_redistributed() -> None:
    may = [name for name in IMAGES if lookup(name).redistribution == "features"]
    assert may == ["omniglot", "quickdraw"]
    assert {d.redistribution for d in catalogue().values()} == {"features", "tables"}


def test_classes_are_those_of_the_design(shared: Path) -> None:
    design = json.loads((shared / "design/class_sizes.json").read_text())
    assert {
        name: [(c["name"], c["n"]) for c in entry["classes"]] for name, entry in design.items()
    } == {
        name: list(zip(lookup(name).class_names, lookup(name).class_sizes, strict=True))
        for name in IMAGES
    }


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'aircraft'"):
        lookup("aircrafts")
    assert lookup("cub").n_images == 1770


def test_superclasses_from_the_published_names() -> None:
    """Alphabets, genera, and the families of Stallkamp et al. (2012)."""
    counts = {name: lookup(name).of_classes for name in catalogue()}
    numbers = {name: len(set(of)) for name, of in counts.items() if of is not None}
    assert numbers == {"omniglot": 20, "fungi": 117, "traffic_signs": 6}
    for name, of in counts.items():
        assert of is None or (len(of) == CLASSES[name] and all(of))
    omniglot, fungi, signs = (
        dict(zip(lookup(name).class_names, lookup(name).of_classes or (), strict=True))
        for name in ("omniglot", "fungi", "traffic_signs")
    )
    slavonic = "Old_Church_Slavonic_(Cyrillic)"
    assert omniglot[f"{slavonic}-character45"] == slavonic
    assert omniglot["Aurek-Besh-character01"] == "Aurek-Besh"
    assert fungi["0044.Amanita vaginata var. vaginata"] == "Amanita"
    assert Counter(fungi.values())["Russula"] == 15
    assert Counter(signs.values()) == {
        "danger": 15,
        "speed limit": 8,
        "mandatory": 8,
        "other prohibitory": 4,
        "derestriction": 4,
        "unique": 4,
    }
    assert signs["Right-of-way at the next intersection"] == "danger"
