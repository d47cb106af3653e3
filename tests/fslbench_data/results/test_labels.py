"""Names that several have."""

from fslbench_data.results.labels import unique_labels

A, B, C = "1a2b3c4d" * 8, "99887766" * 8, "1a2b3c4d" + "0" * 56


def test_names_that_nobody_shares_stay() -> None:
    assert unique_labels([("ProtoNet", A), ("LR", A), ("NCC", B)], ["ref"]) == [
        "ProtoNet",
        "LR",
        "NCC",
    ]


def test_both_of_two_get_their_digits() -> None:
    assert unique_labels([("ProtoNet", A), ("ProtoNet", B)], []) == [
        "ProtoNet (1a2b3c4d)",
        "ProtoNet (99887766)",
    ]


def test_as_many_digits_as_tell_them_apart() -> None:
    found = unique_labels([("P", A), ("P", C), ("P", B)], [])
    assert found == [f"P ({A[:16]})", f"P ({C[:16]})", "P (99887766)"]


def test_a_name_that_imitates_a_label() -> None:
    found = unique_labels([("P", A), ("P", B), ("P (1a2b3c4d)", C)], [])
    assert len(set(found)) == 3
    assert found[0].startswith("P (1a2b3c4d")
    assert found[2].startswith("P (1a2b3c4d) (")


def test_names_that_look_alike_are_told_apart() -> None:
    # other case, a ligature, letters of full width; a reference keeps its name
    found = unique_labels([("Proﬁt", A), ("profit", B), ("ＮＣＣ", C)], ["NCC"])
    assert found == ["Proﬁt (1a2b3c4d)", "profit (99887766)", "ＮＣＣ (1a2b3c4d)"]


def test_two_in_one_file_that_look_alike() -> None:
    assert len(set(unique_labels([("a", A), ("A", A)], []))) == 2


def test_no_end_of_imitation_is_waited_for() -> None:
    taken = [f"P ({A[:n]})" for n in (8, 16, 32, 64)]
    assert len(unique_labels([("P", A), ("P", B)], taken)) == 2


def test_ten_thousand_of_one_name() -> None:
    many = [("P", f"{i:064x}") for i in range(10_000)]  # alike in all but the last digits
    assert len(set(unique_labels(many, ["P"]))) == 10_000
