"""What the judge's stopwatch asks of a submission: rings in shared memory, races, what compiles."""

from grader.errors import Mismatch
from grader.labs.metered import Tuned
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.instruments.handed_on import HandedOn
from grader.proxy.values.kinds import expect
from grader.wire.ring import Layout

MOST_TUNED = 20  # kernels
RING_SECONDS = 60.0  # mapping may have to wait until memory has been given back


class Racing:
    """The part of the proxy that is timed, and whose compiled kernels outlive a worker."""

    handed_on_: HandedOn
    _talk: Conversation | None
    _ring: Layout | None  # the latest

    def _conversation(self) -> Conversation:
        """Return the conversation with the worker at hand, or with a fresh one."""
        raise NotImplementedError

    def tuned_(self) -> list[Tuned]:
        """Return the kernels that are left to Triton's autotuner; none of what is not of our form.

        Raises SubmissionFault where the submission cannot be loaded.
        """
        told = self._conversation().request({"op": "tuned"})
        try:
            return [Tuned.of(item) for item in expect(told, list, "the tuned kernels")[:MOST_TUNED]]
        except (ValueError, Mismatch):
            return []

    def share_(self, fd: int, size: int, layout: Layout) -> None:
        """Hand the worker the memory of a ring; it gives the one before up."""
        self._ring = layout
        header = {"op": "ring", "size": size, "layout": layout.to_json()}
        self._conversation().request(header, fds=(fd,), seconds=RING_SECONDS)

    def take_compiled_(self) -> None:
        """Keep what was compiled in the worker at hand, for those that follow."""
        if self._talk is not None:
            self.handed_on_.take(self._talk)

    def give_compiled_(self) -> None:
        """Let the worker at hand have what was compiled elsewhere meanwhile; a fresh one has it."""
        if self._talk is not None and not self._talk.over:
            self.handed_on_.give(self._talk)

    def race_(
        self, function: str | None, count: int, options: dict[str, object], seconds: float
    ) -> None:
        """Let the worker call a function, or one that does nothing, once for each slot."""
        header = {"op": "race", "function": function, "count": count, "options": options}
        self._conversation().request(header, seconds=seconds)
