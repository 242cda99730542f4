"""Answers of one origin, put together from pairs that are alike.

Two groups become one where at least half of all pairs between them are alike; first come those that
share most and are like the same others. So no chain of single pairs makes one group of a class;
what such pairs join is said instead. Answers of the corpus join no students: they are named where
they are like some of a group.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.course.database.records import Likeness

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """An answer of the corpus that students of a cluster are like."""

    name: str
    students: int  # how many of the cluster are
    share: float  # the highest of a student's code that is also in it


@dataclass(frozen=True, slots=True)
class Cluster:
    """Students whose answers hang together, and how; or one who is like the corpus alone."""

    students: Sequence[str]
    alike: int  # pairs of its students that are
    strongest: Likeness  # of these; where there is one student, with the corpus
    sources: Sequence[Source]  # those that most are like first
    near: int = 0  # pairs of its students with students of other clusters
    parts: Sequence[str] = ()  # functions that the strongest pair shares
    passage: str = ""  # the longest that it shares, as its first one wrote it

    @property
    def possible(self) -> int:
        """How many pairs its students make."""
        return len(self.students) * (len(self.students) - 1) // 2

    @property
    def members(self) -> list[str]:
        """Whose answers a decision about it is about."""
        pair = self.strongest
        return [*self.students] if len(self.students) > 1 else [pair.student, pair.other]

    @property
    def rank(self) -> tuple[float, int, int, str]:
        """The order in which a person should look: most of the code first, then most students."""
        pair = self.strongest
        tenths = int(10 * pair.highest + 1e-9)
        return -tenths, -len(self.students), -pair.tokens, pair.student

    @property
    def line(self) -> str:
        """How it hangs together, in words."""
        count = len(self.students)
        if count == 1:
            return "one student, like the corpus alone"
        if self.alike == self.possible:
            told = f"{count} students, each like each" if count > 2 else "2 students"
        else:
            told = f"{count} students, {self.alike} of {self.possible} pairs alike"
        if self.near:
            pairs = "1 pair" if self.near == 1 else f"{self.near} pairs"
            told += f"; {pairs} with students of other clusters"
        return told


def clusters(found: Iterable[Likeness]) -> list[Cluster]:
    """Put pairs together; first comes what a person should look at first."""
    between: dict[Pair, Likeness] = {}
    corpus: defaultdict[str, list[Likeness]] = defaultdict(list)
    for item in found:
        if item.is_student:
            between[item.student, item.other] = item
        else:
            corpus[item.student].append(item)
    groups = _grouped({pair: item.highest for pair, item in between.items()})
    groups += [[student] for student in corpus if not any(student in group for group in groups)]
    group_of = {student: at for at, group in enumerate(groups) for student in group}
    own: defaultdict[int, list[Likeness]] = defaultdict(list)
    near: Counter[int] = Counter()
    for (one, other), item in between.items():
        if group_of[one] == group_of[other]:
            own[group_of[one]].append(item)
        else:
            near.update((group_of[one], group_of[other]))
    made = [
        _cluster(sorted(group), own[at], corpus, near[at])
        for at, group in enumerate(groups)
        if own[at] or any(student in corpus for student in group)
    ]
    return sorted(made, key=lambda cluster: cluster.rank)


def _cluster(
    group: Sequence[str],
    pairs: Sequence[Likeness],
    corpus: Mapping[str, Sequence[Likeness]],
    near: int,
) -> Cluster:
    like: defaultdict[str, list[Likeness]] = defaultdict(list)
    for student in group:
        for item in corpus.get(student, ()):
            like[item.other].append(item)
    sources = [
        Source(name, len(items), max(item.share for item in items)) for name, items in like.items()
    ]
    sources.sort(key=lambda source: (-source.students, -source.share, source.name))
    strongest = min(pairs or [item for items in like.values() for item in items], key=_rank)
    return Cluster(group, len(pairs), strongest, sources, near)


def _grouped(shares: Mapping[Pair, float]) -> list[list[str]]:
    """Join groups while at least half of the pairs between two are there, by average weight."""
    members = {name: [name] for pair in shares for name in pair}
    weights = _weights(shares, [*members])
    # By group and neighbour: how many pairs there are between them, and the sum of their weights.
    links: dict[str, dict[str, tuple[int, float]]] = {name: {} for name in members}
    for (one, other), weight in weights.items():
        links[one][other] = links[other][one] = (1, weight)
    heap = [(-weight, *sorted(pair)) for pair, weight in weights.items()]
    heapq.heapify(heap)
    while heap:
        average, one, other = heapq.heappop(heap)
        if one not in members or other not in members or other not in links[one]:
            continue
        count, total = links[one][other]
        possible = len(members[one]) * len(members[other])
        if average != -total / possible or 2 * count < possible:
            continue  # told of groups as they were before, or too few
        members[one] += members.pop(other)
        del links[one][other]
        for name, (more, extra) in links.pop(other).items():
            if name == one:
                continue
            del links[name][other]
            count, total = links[one].get(name, (0, 0.0))
            links[one][name] = links[name][one] = (count + more, total + extra)
        for name, (_, total) in links[one].items():
            size = len(members[one]) * len(members[name])
            heapq.heappush(heap, (-total / size, *sorted((one, name))))
    return [*members.values()]


def _weights(shares: Mapping[Pair, float], names: Sequence[str]) -> dict[Pair, float]:
    """Let a pair weigh less where its two are like different others: it may be a chance."""
    bit = {name: 1 << at for at, name in enumerate(sorted(names))}
    around = dict(bit)
    for one, other in shares:
        around[one] |= bit[other]
        around[other] |= bit[one]
    sizes = {name: mask.bit_count() for name, mask in around.items()}
    return {
        (one, other): share
        * (around[one] & around[other]).bit_count()
        / min(sizes[one], sizes[other])
        for (one, other), share in shares.items()
    }


def _rank(item: Likeness) -> tuple[float, int, str, str]:
    return -item.highest, -item.tokens, item.student, item.other
