"""A pump of the service with an engine that answers at once, in place of gradings."""

from collections.abc import Callable
from dataclasses import dataclass, field

from stand_ins.service_room import Classroom

from grader.course.grading.jobs import Done, Job
from grader.labs.results import Report, TaskResult, TestResult, Verdict
from grader.service.core.pump import Pump, Way

Answer = Callable[[Job], Done]


def graded(job: Job, verdict: Verdict = Verdict.PASSED) -> Done:
    tests = (TestResult("test_a", "pad", "hidden", verdict),)
    tasks = (
        TaskResult("pad", "Padding", 100.0, 100.0 if verdict is Verdict.PASSED else 0.0, True),
    )
    return Done(job, 1.0, Report(2, "batching", tasks, tests))


def broken(job: Job) -> Done:
    return Done(job, 1.0, failure="the process that graded it ended with SIGKILL")


@dataclass
class FakeEngine:
    """Answers at once, in the order in which jobs came."""

    answer: Answer = graded
    places: int = 1
    jobs: list[Job] = field(default_factory=list[Job])
    ended: list[Job] = field(default_factory=list[Job])
    idle: Callable[[], None] = lambda: None

    def submit(self, job: Job) -> None:
        self.jobs.append(job)

    def wait(self) -> Done:
        raise NotImplementedError

    def poll(self, seconds: float) -> Done | None:
        if not self.jobs:
            self.idle()
            return None
        self.ended.append(self.jobs.pop(0))
        return self.answer(self.ended[-1])

    def close(self) -> None:
        pass


def pump_of(room: Classroom, name: str = "pump") -> Pump:
    return Pump(room.desk, room.store, room.clock, Way(name))


def grade_all(room: Classroom, engine: FakeEngine, name: str = "pump") -> None:
    """Grade until nothing is left that this pump could take."""
    pump = pump_of(room, name)
    engine.idle = pump.stop
    pump.run(engine)
