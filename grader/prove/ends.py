"""How near honest forms of operators come to the limits that suites give them, at their ends.

The forms are the oracles' (``reference/ends``), which the judge imports from nowhere: they are
loaded by name, where a repository has them.
"""

import contextlib
import importlib
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from grader.errors import Mismatch
from grader.prove.findings import End, Ends

MODULE = "reference.ends"
SEEDS = range(8)


def ends_of(root: Path) -> list[Ends]:
    """Try every operator that a repository's oracles know; none where they know none."""
    folder = root.joinpath(*MODULE.split("."))
    if not folder.is_dir():
        return []
    operators = importlib.import_module(MODULE).OPERATORS
    return [_ends(operator) for operator in operators]


def _ends(operator: Any) -> Ends:
    honest = max(shares(operator, operator.forms, operator.ends), key=lambda end: end.share)
    lossy = min(shares(operator, operator.lossy, [operator.calm]), key=lambda end: end.share)
    return Ends(len(operator.forms), honest, lossy)


def shares(operator: Any, forms: Any, ends: Iterable[str]) -> Iterator[End]:
    """Yield what forms come to at ends of an operator, under each seed."""
    import torch

    for end in ends:
        for seed in SEEDS:
            inputs = operator.ends[end](torch.Generator().manual_seed(seed))
            limit = operator.limit(*inputs)
            for name, form in forms.items():
                yield End(operator.name, name, end, _share(form(*inputs), limit))


def _share(got: Any, limit: Any) -> float:
    """Return an error as a share of its limit; what is no number where one is wanted has no end."""
    from grader.proxy.values.compare import assert_close, measuring

    if limit.allowed is not None:
        shares = (got.double() - limit.want).abs() / limit.allowed
        return shares.nan_to_num(math.inf).max().item()
    with measuring() as found, contextlib.suppress(Mismatch):
        assert_close(got, limit.want, limit.case, **limit.options)
    return found[0].share if found else math.inf
