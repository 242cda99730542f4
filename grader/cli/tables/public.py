"""What ``lab check --public`` prints: the wrong answers that no public test catches, and shares."""

from collections.abc import Sequence

from grader.prove.findings import Catch, Loss
from grader.text import visible


def print_catches(catches: Sequence[Catch]) -> None:
    """Print the wrong answers of one lab that pass all public tests, one a line."""
    for item in catches:
        if item.first is None:
            print(visible(f"  not caught: {item.file}"))


def print_shares(catches: Sequence[Catch]) -> None:
    """Print for each lab, and over all, how many wrong answers the public tests catch."""
    labs = dict.fromkeys(item.lab for item in catches)
    print(f"{'caught':>6} {'of':>4} {'share':>6}")
    for lab in labs:
        _print_share([item for item in catches if item.lab == lab], lab)
    if len(labs) > 1:
        _print_share(catches, "all labs")


def print_least(losses: Sequence[Loss]) -> None:
    """Print the wrong answer of a lab that loses the smallest share of a task by contracts."""
    if losses:
        least = min(losses, key=lambda loss: loss.share)
        print(visible(f"  least loss: {least.share:.1%} of {least.task}, {least.file}"))


def _print_share(catches: Sequence[Catch], name: str) -> None:
    caught = sum(item.first is not None for item in catches)
    print(visible(f"{caught:6} {len(catches):4} {caught / len(catches):6.0%}  {name}"))
