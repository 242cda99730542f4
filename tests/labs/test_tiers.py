"""Tiers of lab.toml, and the tests that are made of them."""

from typing import Any

import pytest

from grader.errors import LabError
from grader.labs.tiers import Ladder, Tier, read_ladder, repeated
from grader.labs.toml import Table


def ladder(*steps: dict[str, Any], **more: Any) -> Ladder:
    return read_ladder(Table("lab.toml", "tiers[1]", {"name": "rows", "steps": [*steps], **more}))


def test_shares_are_what_each_step_adds() -> None:
    found = ladder(
        {"ratio": 0.5, "share": 40}, {"ratio": 0.9, "share": 70}, {"ratio": 1.2, "share": 100}
    )

    assert found == Ladder("rows", (Tier(0.5, 40.0), Tier(0.9, 30.0), Tier(1.2, 30.0)))
    assert found.ratios == (0.5, 0.9, 1.2)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([], "steps"),
        ([{"ratio": 0.5, "share": 90}], "the last share must be 100"),
        ([{"ratio": 0.5, "share": 40}, {"ratio": 0.5, "share": 100}], "ratio: must be larger"),
        ([{"ratio": 0.5, "share": 100}, {"ratio": 0.9, "share": 100}], "share: must be larger"),
        ([{"ratio": 0, "share": 100}], "ratio: must be above 0"),
        ([{"ratio": 1, "share": 100, "points": 3}], "points: is no key"),
        ([{"ratio": 1}], "share: is missing"),
    ],
)
def test_mistakes_name_their_key(steps: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(LabError, match=problem):
        ladder(*steps)


def test_repeated_names_are_found_once() -> None:
    one = ladder({"ratio": 1, "share": 100})

    assert list(repeated((one, one, one))) == ["rows"]
    assert list(repeated((one,))) == []
