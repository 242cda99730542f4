"""Processor seconds of a command, its descendants included."""

import math
import re
import sys
from pathlib import Path

import pytest

from bench.account import main, seconds_of

BURN = "import time; t = time.process_time()\nwhile time.process_time() - t < 0.5: pass"


def measured(code: str) -> float:
    found = seconds_of([sys.executable, "-I", "-S", "-c", code], Path("/"))
    if math.isnan(found):
        pytest.skip("no control group can be made here")
    return found


def test_what_a_killed_descendant_has_used_counts() -> None:
    code = f"""
import os, signal, time
done, tell = os.pipe()
child = os.fork()
if not child:
    exec({BURN!r})
    os.write(tell, b"!")
    time.sleep(60)
os.read(done, 1)
os.kill(child, signal.SIGKILL)
"""
    assert measured(code) >= 0.4
    assert measured("import time; time.sleep(0.6)") < 0.3


def test_command_that_fails_is_told() -> None:
    with pytest.raises(RuntimeError, match="no such luck"):
        seconds_of([sys.executable, "-c", "raise SystemExit('no such luck')"], Path("/"))


def test_a_command_is_told_with_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["sh", "-c", "exit 0"])

    said = capsys.readouterr()
    told = re.fullmatch(r"\d+\.\d processor seconds: sh -c 'exit 0'\n", said.out)
    assert (code, bool(told), said.err == "") in ((0, True, True), (1, False, False))
