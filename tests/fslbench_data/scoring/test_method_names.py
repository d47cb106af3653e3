"""Methods by the short names that outputs print."""

import pytest

import fslbench_data as fb
from benchmark_spec.errors import SpecError, UnknownNameError
from fslbench_data.render.console import shortened
from fslbench_data.scoring.selection import whole_name, whole_names

NAMES = ("pixels/NCC", "pixels/LR", "wide/pixels/NCC", "clip/NCC", "clip/FT", "plain")


@pytest.mark.parametrize(
    ("text", "features", "whole"),
    [
        ("clip/NCC", (), "clip/NCC"),
        ("plain", ("pixels",), "plain"),
        ("FT", ("pixels",), "clip/FT"),  # the only one
        ("NCC", ("pixels",), "pixels/NCC"),
        ("NCC", ("wide/pixels", "other"), "wide/pixels/NCC"),
        ("pixels/NCC", ("wide",), "pixels/NCC"),  # a whole name is nothing else
        ("NCC", ("wide/pixels",), "wide/pixels/NCC"),
    ],
)
def test_a_short_name_is_that_of_one_method(text, features, whole) -> None:
    assert whole_name(text, NAMES, features) == whole
    assert whole_names([text, whole], NAMES, features) == (whole,)


@pytest.mark.parametrize(
    ("text", "features", "meant"),
    [
        ("NCC", (), ["pixels/NCC", "wide/pixels/NCC", "clip/NCC"]),
        ("NCC", ("pixels", "clip"), ["pixels/NCC", "clip/NCC"]),
        ("…/NCC", ("pixels",), ["pixels/NCC", "wide/pixels/NCC", "clip/NCC"]),
    ],
)
def test_of_several_an_error_lists_what_it_could_be(text, features, meant) -> None:
    with pytest.raises(SpecError) as caught:
        whole_name(text, NAMES, features, where="--against")
    assert str(len(meant)) in caught.value.what
    assert caught.value.where == "--against"
    assert caught.value.expected == f"one of {', '.join(meant)}"


@pytest.mark.parametrize("text", ["", "CC", "pixels", "ncc", "…", "/NCC", "clip/FT…clip/FT"])
def test_what_no_output_prints_is_unknown(text) -> None:
    with pytest.raises(UnknownNameError):
        whole_name(text, NAMES, ("pixels",))


@pytest.mark.parametrize("most", [20, 24, 29, 30, 40])
def test_what_an_output_cuts_short_can_be_copied(most) -> None:
    names = ("efficientnet_lite0-pca128/MatchingNet", "efficientnet_lite1/LR", "mobilenet_v2/NCC")
    for name in names:
        assert whole_name(shortened(name, most), names) == name


@pytest.mark.slow
def test_a_short_name_is_compared_with_as_the_whole_one(root, embedded) -> None:
    file = root / "examples" / "my_results.parquet"
    some = {"datasets": "digits", "task_sets": "open-5w10s7q"}
    short = fb.score(file, embedded, against="NCC", **some)
    assert short.against == ("pixels/NCC",)
    assert short == fb.score(file, embedded, against="pixels/NCC", **some)
    asked = (("NCC", "LR"), "Ridge"), (("pixels/NCC", "pixels/LR"), ())
    tables = [fb.table(file, embedded, against=a, methods=m, **some).csv() for a, m in asked]
    assert tables[0] == tables[1]
    compared = fb.compare(f"{file}::Ridge", "NCC", embedded, **some)
    assert compared == fb.compare(file, "pixels/NCC", embedded, **some)
    with pytest.raises(SpecError, match="could be any of 6 methods"):
        fb.compare("FT", "NCC", embedded, **some)


@pytest.mark.slow
def test_of_references_alone_a_short_name_says_too_little(embedded) -> None:
    with pytest.raises(SpecError, match="'NCC' could be any of"):
        fb.score(None, embedded, datasets="fashion_mnist", against="NCC")
