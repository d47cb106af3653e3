"""Names that several have, and names that imitate others."""

import pytest

from fslbench_data.leaderboard.leaderboard import unique_labels

A, B, C = "1a2b3c4d" * 8, "99887766" * 8, "1a2b3c4d" + "0" * 56


@pytest.mark.parametrize(
    ("methods", "taken", "labels"),
    [
        ([("P", A), ("P", B)], [], ["P (1a2b3c4d)", "P (99887766)"]),
        # as many digits as tell them apart
        (
            [("P", A), ("P", C), ("P", B)],
            [],
            [f"P ({A[:16]})", f"P ({C[:16]})", "P (99887766)"],
        ),
        # other case, a ligature, letters of full width; a reference keeps its name
        (
            [("Proﬁt", A), ("profit", B), ("ＮＣＣ", C)],
            ["NCC"],
            ["Proﬁt (1a2b3c4d)", "profit (99887766)", "ＮＣＣ (1a2b3c4d)"],
        ),
        ([("a", A), ("A", A)], [], ["a (1a2b3c4d)", "A (1a2b3c4d)"]),
        # a name that imitates a label
        (
            [("P", A), ("P", B), ("P (1a2b3c4d)", C)],
            [],
            [f"P ({A[:16]})", "P (99887766)", "P (1a2b3c4d) (1a2b3c4d)"],
        ),
    ],
)
def test_names_that_are_shared_get_digits(
    methods: list[tuple[str, str]], taken: list[str], labels: list[str]
) -> None:
    assert unique_labels(methods, taken) == labels


@pytest.mark.parametrize(
    "name",
    [
        "\u0440\u0456\u0445\u0435ls/NCC",  # Cyrillic
        "PIXELS/ncc",
        "pixels / NCC",
        "pixels_NCC",
        "pixelsNCC",
        "(pixels/NCC)",
    ],
)
def test_names_that_imitate_a_reference(name: str) -> None:
    assert unique_labels([(name, A)], ["pixels/NCC"]) == [f"{name} (1a2b3c4d)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pixels/NCC2", "pixels/NCC"),
        ("ViT-B/16", "ViT-B/32"),
        ("alpha=1.0", "alpha=10"),
        ("ProtoNet*", "ProtoNet"),
        ("Pr\u00f6t\u00f6N\u00e9t 5x1", "ProtoNet"),
        ("!!", "??"),
    ],
)
def test_honest_names_stay(one: str, other: str) -> None:
    assert unique_labels([(one, A), (other, B)], []) == [one, other]
    assert unique_labels([(one, A)], [other]) == [one]


def test_thousands_of_one_name_and_of_imitations() -> None:
    many = [("P", f"{i:064x}") for i in range(2_000)]  # alike in all but the last digits
    taken = [f"P ({A[:n]})" for n in (8, 16, 32, 64)]
    assert len({*unique_labels([*many, ("P", A)], taken)}) == 2_001
