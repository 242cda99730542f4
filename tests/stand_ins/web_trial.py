"""Try the attacks of ``tests/exploits/web`` on one service: many at a time, what is timed alone."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from stand_ins.attacks import Attack
from stand_ins.trial import Outcome
from stand_ins.web_ground import Ground

AT_A_TIME = 12  # most wait for a time to pass
TIMED = "timing"  # what the names of those begin with that have the service to themselves


def try_web(attacks: Sequence[Attack], folder: Path) -> tuple[list[Outcome], list[str]]:
    """Start the service, try them, and end it; return what came of each, and what its log says
    that broke. Without any attack nothing is started.
    """
    if not attacks:
        return [], []
    timed = [attack for attack in attacks if attack.file.stem.startswith(TIMED)]
    with closing(Ground(folder)) as ground:
        outcomes = [ground.attempt(attack) for attack in timed]
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            rest = [attack for attack in attacks if attack not in timed]
            outcomes += pool.map(ground.attempt, rest)
        return outcomes, ground.complaints()
