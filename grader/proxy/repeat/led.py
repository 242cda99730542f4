"""Which requests of a test led to its last one: those on the objects that it has to do with.

What the judge does beside the submission, to know what is right, is left out: calls of given code
that the submission was not handed, and what a backend is asked about its graphs.
"""

from collections.abc import Iterator

from grader.proxy.loans.loans import Loan
from grader.proxy.repeat.transcript import Asked, Transcript, objects_in

UNSAID = "name", "shapes"  # what the judge asks a backend beside calls and counts


class Led:
    """The requests in their order, and which objects among theirs are backends."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.backends: set[int] = set()
        self._given: set[int] = set()  # objects that given code has made
        self.entries = self._to_the_last()

    def _to_the_last(self) -> list[Asked]:
        asked = {entry: self._about(entry) for entry in self._chosen()}
        last = next(reversed(asked), None)
        if last is None:
            return []
        objects = asked[last]
        while True:
            led = [entry for entry, things in asked.items() if entry is last or objects & things]
            found = {thing for entry in led for thing in asked[entry]}
            if found <= objects:
                return led
            objects |= found

    def _about(self, entry: Asked) -> set[int | Loan]:
        """Return all objects that a request has to do with, those of lent ones included."""
        found = {*entry.takes(), *entry.makes()}
        for lent in [thing for thing in found if isinstance(thing, Loan)]:
            for use in self._transcript.uses[lent]:
                found |= {*objects_in([use.value, use.answer])}
                for inner in use.asked:
                    found |= {*inner.takes(), *inner.makes()}
        return found

    def _chosen(self) -> Iterator[Asked]:
        handed_on: set[int | Loan] = set()  # of what given code has made
        for entry in self._transcript.asked:
            taken, made = {*entry.takes()}, {*entry.makes()}
            match entry.header:
                case {"target": ["given", *_]} if taken <= self._given:
                    self._given |= made
                case {"op": "backend"}:
                    self.backends |= made
                case {"target": ["object", int(number), *_]} if number in self.backends:
                    if entry.target[-1] in UNSAID:
                        continue
                case _ if entry.of in self._given and taken <= self._given:
                    self._given |= made
                    if not made and entry.of not in handed_on:
                        continue
                case _:
                    handed_on |= taken & self._given
            yield entry
