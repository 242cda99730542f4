"""Pairs become clusters: answers of one origin together, and no chain of chances one blob."""

import itertools

from stand_ins.classroom import LAB

from grader.course.database.records import Likeness
from grader.course.likeness.clusters import Cluster, clusters


def pair(one: str, other: str, share: float = 0.9, is_student: bool = True) -> Likeness:
    return Likeness(LAB, one, other, is_student, share, share, 1000)


def each_with_each(names: str, share: float = 0.9) -> list[Likeness]:
    return [pair(one, other, share) for one, other in itertools.combinations(names, 2)]


def students(found: list[Cluster]) -> list[str]:
    return ["".join(cluster.students) for cluster in found]


def test_answers_of_one_origin_are_one_cluster() -> None:
    found = clusters([*each_with_each("abcd"), *each_with_each("xyz")])

    assert students(found) == ["abcd", "xyz"]
    assert [cluster.alike for cluster in found] == [6, 3]
    assert found[0].line == "4 students, each like each"


def test_a_chain_of_single_pairs_is_no_cluster_of_all() -> None:
    chain = [pair(one, other, 0.7) for one, other in itertools.pairwise("abcdefgh")]

    found = clusters(chain)

    assert max(len(cluster.students) for cluster in found) <= 3
    assert sum(cluster.near for cluster in found) > 0


def test_what_single_pairs_join_is_said_and_not_joined() -> None:
    found = clusters([*each_with_each("abcd"), *each_with_each("wxyz"), pair("a", "z", 0.99)])

    assert students(found) == ["abcd", "wxyz"]
    assert [cluster.near for cluster in found] == [1, 1]
    assert "with students of other clusters" in found[0].line


def test_a_pair_that_is_missing_does_not_part_a_cluster() -> None:
    found = clusters(each_with_each("abcde")[1:])

    assert students(found) == ["abcde"]
    assert found[0].line == "5 students, 9 of 10 pairs alike"


def test_the_corpus_joins_nobody_and_counts_as_no_student() -> None:
    found = clusters([pair("a", "old/1.py", 0.8, False), pair("b", "old/1.py", 0.7, False)])

    assert students(found) == ["a", "b"]
    assert [source.name for source in found[0].sources] == ["old/1.py"]
    assert found[0].line == "one student, like the corpus alone"
    assert found[0].members == ["a", "old/1.py"]


def test_a_cluster_says_of_how_many_students_a_source_is() -> None:
    corpus = [pair(name, "old/1.py", 0.8, False) for name in "ab"]

    [found] = clusters([*each_with_each("abc"), *corpus, pair("c", "old/2.py", 0.95, False)])

    assert [(source.name, source.students) for source in found.sources] == [
        ("old/1.py", 2),
        ("old/2.py", 1),
    ]
    assert found.members == ["a", "b", "c"]


def test_what_shares_most_comes_first_then_what_is_of_most_students() -> None:
    found = clusters(
        [*each_with_each("abcd", 0.71), *each_with_each("xyz", 0.98), *each_with_each("pq", 0.96)]
    )

    assert students(found) == ["xyz", "pq", "abcd"]
    assert (found[0].strongest.student, found[0].strongest.other) == ("x", "y")


def test_the_order_of_the_pairs_does_not_matter() -> None:
    pairs = [*each_with_each("abcd"), *each_with_each("wxyz", 0.8), pair("a", "z", 0.7)]

    assert students(clusters(pairs)) == students(clusters(reversed(pairs)))


def test_nothing_alike_is_no_cluster() -> None:
    assert clusters([]) == []
