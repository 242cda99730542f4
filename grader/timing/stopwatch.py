"""The fixture of speed tests: races against the baseline, each measured once for all its tiers."""

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from grader.errors import CannotGrade, JudgeError, Mismatch, NotGraded, SubmissionFault
from grader.labs.lab import Lab
from grader.labs.tiers import Rung
from grader.proxy.conversation.spent import ALONE, BLOCKS, REST, ROOFLINE, VERIFYING, WARMING
from grader.proxy.student import Student
from grader.sandbox.confinement import gpu
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import baseline_stage
from grader.timing.projection import Prover
from grader.timing.race import Race, load_baseline
from grader.timing.roofline import Roofline, measure_roofline, wait_for_rest
from grader.timing.speed import UNTIL_LOOKED_AT, Outcome, describe, judged
from grader.timing.trial import (
    FACTOR,
    MOST_CALLS,
    RING_SHARE,
    Contest,
    Lane,
    choose_calls,
)

RACE_SECONDS = 300.0  # for all that a submission does in one race
VERIFIED_SLOTS = 2

Tell = Callable[[str, Any], None]


class Stopwatch:
    """Measures a submission's functions next to the lab's baseline on the same device."""

    def __init__(
        self, lab: Lab, student: Student, setting: Setting, tell: Tell, *, races: bool = True
    ) -> None:
        """Without ``races`` sizes are verified, and nothing is timed."""
        self._lab = lab
        self._races = races
        self._student = student
        self._spent = student.spent_
        self._setting = setting
        self._tell = tell
        self._device = torch.device(setting.device)
        self._outcomes: dict[tuple[str, str], Outcome | Exception] = {}
        self._pool: WarmPool | None = None  # of the baseline
        self._baseline: Student | None = None
        self._module: Any = None
        self._roofline: Roofline | None = None

    # -- for suites -------------------------------------------------------------------------

    def verify(self, race: Race) -> None:
        """Fail unless whole outputs are right, and arguments unchanged, at the size of a race."""
        if self._races:
            self._trusted_student()  # it starts meanwhile
        prover = self._prover(race)
        self._student.extend_(RACE_SECONDS)
        lane = self._lane(self._student, race, prover, VERIFIED_SLOTS)
        try:
            with self._spent.on(VERIFYING):
                lane.run(prover, VERIFIED_SLOTS, seconds=RACE_SECONDS)
                prover.judge_whole(lane.slots)
                lane.watch(prover, VERIFIED_SLOTS)
                self._student.take_compiled_()
        finally:
            self._student.close_()
            lane.close()

    def reach(self, rung: Rung, race: Race) -> None:
        """Fail unless the race reaches the tier; what the interval leaves open, it reaches."""
        if race.key not in self._outcomes:
            try:
                self._outcomes[race.key] = self._measure(race, rung)
            except (SubmissionFault, CannotGrade, NotGraded) as error:
                self._outcomes[race.key] = error
        outcome = self._outcomes[race.key]
        if isinstance(outcome, Exception):
            raise outcome
        if outcome.suspicious:
            raise Mismatch(f"{outcome.suspicious}: {UNTIL_LOOKED_AT}")
        ratio = outcome.timing.ratio
        if not ratio.reaches(rung.tier.ratio):
            raise Mismatch(
                f"{race.function} at {race.case} is {ratio.median:.2f} times as fast as the"
                f" baseline (95 % interval {ratio.low:.2f} to {ratio.high:.2f}),"
                f" not {rung.tier.ratio:g} times"
            )

    def close(self) -> None:
        """Kill the baseline's worker, whether it was used or not."""
        if self._pool is not None:
            self._pool.close()
        if self._baseline is not None:
            self._baseline.close_()

    # -- one race ---------------------------------------------------------------------------

    def _measure(self, race: Race, rung: Rung) -> Outcome:
        # The submission starts afresh: while it does not live, the baseline is timed alone.
        self._student.close_()
        roofline = self._prepared()
        prover = self._prover(race)
        slots = self._slots(prover)
        with self._spent.on(ALONE):
            baseline = self._lane(self._trusted_student(), race, prover, slots)
        try:
            contest = self._contest(race, prover, baseline, slots)
            self._compete(contest, baseline, rung.ladder.ratios)
        finally:
            baseline.close()
        self._assert_quiet()
        outcome = judged(race, contest.timing(), roofline)
        self._tell("speed", describe(race, rung, outcome, roofline))
        return outcome

    def _contest(self, race: Race, prover: Prover, baseline: Lane, slots: int) -> Contest:
        try:
            with self._spent.on(ALONE):
                baseline.run(prover, 1)
                calls = choose_calls(baseline.quickest(prover, min(FACTOR, slots)), slots)
                contest = Contest(race, prover, calls, self._spent)
                contest.alone(baseline)
        except SubmissionFault as fault:
            raise JudgeError(f"the baseline of {race.function} failed: {fault}") from None
        return contest

    def _compete(self, contest: Contest, baseline: Lane, ratios: tuple[float, ...]) -> None:
        self._student.extend_(RACE_SECONDS)
        student = self._lane(self._student, contest.race, contest.prover, FACTOR * contest.calls)
        try:
            with self._spent.on(WARMING):
                contest.warm_up(student)
            with self._spent.on(BLOCKS):
                contest.compete(student, baseline, ratios)
            contest.prover.judge_whole(student.slots[:1])
        finally:
            # Dead, not idle, before the baseline is timed alone again.
            self._student.close_()
            student.close()
        with self._spent.on(ALONE):
            contest.alone(baseline)
            contest.by_events(baseline)

    def _lane(self, student: Student, race: Race, prover: Prover, slots: int) -> Lane:
        return Lane(student, race, prover.layout(slots), self._device)

    def _slots(self, prover: Prover) -> int:
        """Return how many slots a ring may have; raises if the GPU cannot hold the fewest."""
        slot = prover.layout(1).slot_bytes
        most = FACTOR * MOST_CALLS
        if self._device.type == "cpu":
            return min(most, FACTOR)
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info(self._device)
        slots = min(most, int(RING_SHARE * free) // slot)
        if slots >= FACTOR:
            return slots
        needed = FACTOR * slot / RING_SHARE
        if needed > total:
            raise NotGraded(f"a GPU of {needed / 2**30:.0f} GiB is needed to time this size")
        raise CannotGrade(f"{needed / 2**30:.0f} GiB of GPU memory must be free to time this size")

    # -- what all races share ---------------------------------------------------------------

    def _prepared(self) -> Roofline:
        """Return the roofline, measured once, on a GPU that is at rest."""
        if self._roofline is None:
            if self._device.type == "cpu":
                self._roofline = Roofline(float("inf"), float("inf"))
                return self._roofline
            # What lives by now stays: each collection before a timing would look through it.
            gc.collect()
            gc.freeze()
            with self._spent.on(ROOFLINE):
                wait_for_rest(self._device)
                self._roofline = measure_roofline(self._device)
            bandwidth, matmul = self._roofline.bandwidth / 1e9, self._roofline.matmul / 1e12
            measured = {"bandwidth_gbs": round(bandwidth), "matmul_tflops": round(matmul)}
            self._tell("gpu", gpu.read_state() | measured)
        return self._roofline

    def _assert_quiet(self) -> None:
        """Refuse a measurement beside which something else worked."""
        if self._device.type == "cuda":
            with self._spent.on(REST):
                wait_for_rest(self._device)

    def _prover(self, race: Race) -> Prover:
        if self._module is None:
            self._module = load_baseline(self._lab)
        return Prover(race, getattr(self._module, race.function), self._device)

    def _trusted_student(self) -> Student:
        """Return the baseline in a worker of its own, confined like any submission."""
        if self._baseline is None:
            stage = baseline_stage(self._lab, self._setting.stage)
            setting = replace(self._setting, stage=stage)
            self._pool = WarmPool(lambda: WorkerProcess(setting), size=1)
            self._pool.expect(1)
            self._baseline = Student(self._lab, setting, self._pool, "")
        return self._baseline
