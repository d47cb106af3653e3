"""Methods by the short names that outputs print."""

import pytest

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
