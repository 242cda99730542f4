"""Try the attacks of ``tests/exploits/web`` on one service, many at a time."""

import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from stand_ins.attacks import Attack
from stand_ins.trial import Outcome

NEEDED = ("sqlalchemy", "fastapi", "uvicorn")  # of the extra service
SERVICE_IS_HERE = all(importlib.util.find_spec(name) for name in NEEDED)
AT_A_TIME = 12  # most wait for a time to pass
SLOW = ("body", "timing")  # what the names of these begin with


def try_web(attacks: Sequence[Attack], folder: Path) -> tuple[list[Outcome], list[str]]:
    """Start the service, try them, and end it; return what came of each, and what its log says
    that broke. Without any attack nothing is started.
    """
    if not attacks:
        return [], []
    from stand_ins.web_ground import Ground

    with closing(Ground(folder)) as ground, ThreadPoolExecutor(AT_A_TIME) as pool:
        # Those that take longest first: they wait for a time limit, or ask very often.
        slow = sorted(attacks, key=lambda attack: not attack.file.stem.startswith(SLOW))
        outcomes = [*pool.map(ground.attempt, slow)]
        return outcomes, ground.complaints()
