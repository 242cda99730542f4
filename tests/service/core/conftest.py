"""What the tests of the service's rules share."""

from pathlib import Path

import pytest
from stand_ins.service_room import Classroom


@pytest.fixture
def room(tmp_path: Path) -> Classroom:
    return Classroom(tmp_path)
