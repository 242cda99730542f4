"""The tables of ``lab check --margins``: a line for each test, and one for each operator."""

from collections.abc import Sequence

from grader.prove.findings import Ends, Margin, Reach
from grader.text import visible

COLUMNS = f"{'right':>7}  {'limit':<15}  {'wrong':>7}"


def print_margins(margins: Sequence[Margin]) -> None:
    """Print how near to each limit right and wrong answers come, as shares of it.

    A line with ``!`` has less than a factor of 3 on one side.
    """
    groups: dict[tuple[str, str], list[Margin]] = {}
    for margin in margins:
        groups.setdefault((margin.suite, margin.test.partition("[")[0]), []).append(margin)
    for place, (key, group) in enumerate(groups.items()):
        if not place:
            print(f"{group[0].lab}: shares of the limit\n  {COLUMNS}  test")
        rights = [item.right for item in group if item.right is not None]
        wrongs = [item.wrong for item in group if item.wrong is not None]
        right = max(rights, key=_share, default=None)
        wrong = min(wrongs, key=_share, default=None)
        mark = "!" if any(item.is_narrow for item in group) else " "
        numbers = f"{_number(right)}  {_limit(right):<15}  {_number(wrong)}"
        print(visible(f"{mark} {numbers}  {' '.join(key)}"))


def print_ends(operators: Sequence[Ends]) -> None:
    """Print the worst honest form of each operator, where it comes to that, and the best lossy one.

    A line with ``!`` has less than a factor of 3 on one side.
    """
    if operators:
        print(f"operators: shares of the limit\n  {'honest':>7}  {'lossy':>7}  worst of all forms")
    for ends in operators:
        honest, mark = ends.honest, "!" if ends.is_narrow else " "
        numbers = f"{honest.share:7.2g}  {ends.lossy.share:7.2g}"
        worst = f"{honest.operator}, {ends.forms} forms: {honest.form}, at {honest.end}"
        print(visible(f"{mark} {numbers}  {worst}"))


def _share(reach: Reach) -> float:
    return reach.measured.share


def _number(reach: Reach | None) -> str:
    return f"{'-':>7}" if reach is None else f"{_share(reach):7.2g}"


def _limit(reach: Reach | None) -> str:
    return "-" if reach is None else f"{reach.measured.limit:.1e} {reach.measured.by}"
