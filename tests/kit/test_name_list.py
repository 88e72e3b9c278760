"""Names that an error lists."""

from __future__ import annotations

from encoders.kit.name_list import list_names


def test_the_nearest_of_many_names_comes_first_and_most_are_counted() -> None:
    names = [f"Clip_{number:02}" for number in range(16)] + ["Walking"]
    told = list_names("walkin", names)
    assert told.startswith("Walking, Clip_00, Clip_01, ")
    assert told.endswith("Clip_08 and 7 more")


def test_few_names_keep_their_order_and_none_are_said_to_be_none() -> None:
    assert list_names("x", ["b", "a"]) == "b, a"
    assert list_names(3, []) == "none"
