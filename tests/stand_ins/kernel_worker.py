"""A real worker with Triton, and a submission of ours in it."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

from stand_ins.expectation import HERE

from grader.labs.lab import Lab, load_lab
from grader.proxy.student import Student
from grader.sandbox.level import choose_level
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

LAB = load_lab(HERE / "demo" / "labs" / "90_echo")


@contextlib.contextmanager
def fresh_student(device: str, source: str, lab: Lab = LAB) -> Iterator[Student]:
    level, _ = choose_level("auto")
    with staged(lab, {}, level) as stage:
        (stage / "submission").mkdir()
        (stage / "submission" / f"{lab.topic}.py").write_text(source)
        rlimits = {"NOFILE": 1024, "FSIZE": 1 << 30, "CORE": 0}
        setting = Setting(
            stage, {}, lab.given, device, level, 16 << 30, 400, rlimits, 1 << 16, triton=True
        )
        pool = WarmPool(lambda: WorkerProcess(setting))
        lab = replace(lab, limits=replace(lab.limits, call_seconds=100))
        student = Student(lab, setting, pool, source)
        now = time.monotonic()
        student.begin_(now + 300, now + 300, 1)
        try:
            yield student
        finally:
            student.close_()
            pool.close()
