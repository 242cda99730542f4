"""Every exception of the judge.

InferlabError
├── UsageError            the command line or a file is wrong          -> exit 2
│   ├── LabError          a lab's own files break the contract
│   └── CourseError       course.toml breaks its contract
├── GitError              git could not do what was asked
│   └── GitLimit          it was stopped at a limit of ours
├── CannotGrade           our machine, never the student               -> exit 3
│   ├── SandboxError      a confined worker could not be started
│   ├── StoreError        the course database cannot be used
│   └── JudgeError        the trusted side broke
└── SubmissionFault       the submission's doing; carries the verdict
    ├── Mismatch          a value breaks the contract                  -> failed
    │   ├── WrongNumbers  a tensor holds other numbers than it should  -> failed
    │   ├── Unsound       kernels do what a GPU does not forgive       -> half of its task is
    │   └── Forbidden     the code reached what the rules forbid       -> its task is closed
    │       └── Tampered  it changed what of ours runs beside it       -> the same
    ├── StudentError      the submission raised                        -> error
    ├── StudentTimeout    a deadline passed                            -> timeout
    ├── StudentMemory     a memory limit was hit                       -> memory
    └── StudentCrashed    the worker died or broke the protocol        -> crashed
NotGraded                 this machine cannot judge the test           -> not_graded

The last four, below Mismatch, are the submission's only once an answer of ours has come through in
its place (``judge/plugin/blame``): else they are this machine's.
"""

from dataclasses import dataclass


class InferlabError(Exception):
    """A failure that is explained in one line; ``hint`` says what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def line(self) -> str:
        """Message and hint in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(InferlabError):
    """The command line, a path or a file given to us is wrong."""


class LabError(UsageError):
    """A file of a lab breaks the lab's contract; the message names file and key."""


class CourseError(UsageError):
    """``course.toml`` is missing or breaks its contract; the message names file and key."""


class GitError(InferlabError):
    """A git command failed; the message is the line in which git says why."""


class GitLimit(GitError):
    """A git command met a limit of ours; ``resource`` is what ran out."""

    def __init__(self, message: str, resource: str) -> None:
        super().__init__(message)
        self.resource = resource


class CannotGrade(InferlabError):
    """This machine cannot grade now; it costs the student nothing."""


class SandboxError(CannotGrade):
    """A worker could not be started or confined."""


class StoreError(CannotGrade):
    """The course database is locked, full, damaged, or of a newer version; nothing was lost."""


class JudgeError(CannotGrade):
    """The trusted side broke."""


class SubmissionFault(Exception):
    """What a test raises when the submission is at fault; the subclass decides the verdict."""


class Mismatch(SubmissionFault):
    """A value that the submission produced breaks the contract."""


class WrongNumbers(Mismatch):
    """A tensor has the right form and holds other numbers than it should."""


class Unsound(Mismatch):
    """Kernels of the submission do what the interpreter lets pass and a GPU does not forgive."""


class Forbidden(Mismatch):
    """The submission reached, while it ran, what the lab's rules forbid."""


class Tampered(Forbidden):
    """The submission changed the judge's own objects in its process."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the submission's own traceback."""

    line: int
    function: str
    source: str


class StudentError(SubmissionFault):
    """The submission raised; only its own frames are kept.

    ``bases`` are the names of the exception's class and its ancestors, for ``raises``.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        bases: tuple[str, ...] = (),
        frames: tuple[Frame, ...] = (),
    ) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
        self.bases = bases
        self.frames = frames


class StudentTimeout(SubmissionFault):
    """A call, a test or the grading ran past its deadline."""


class StudentMemory(SubmissionFault):
    """The worker was killed at its memory limit."""


class StudentCrashed(SubmissionFault):
    """The worker died or sent what no worker of ours sends."""


class NotGraded(Exception):
    """This machine lacks what the test needs (for example a GPU)."""
