"""The network between ranks: what passes, what never will, and who is told."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.errors import Mismatch, StudentError
from grader.proxy.loans.loans import Refusal
from grader.proxy.ranks.network import Network
from grader.proxy.ranks.peer import Peer

SECONDS = 30.0  # a hang is a failure, not a wait
X = torch.arange(3)


def played(*ranks: Callable[[Peer], Any], network: Network | None = None) -> list[Future[Any]]:
    """Let each rank run in a thread of its own, until all are done."""
    network = network or Network(len(ranks))

    def attended(rank: int) -> Any:
        with network.attended(rank):
            return ranks[rank](network.peer(rank))

    with ThreadPoolExecutor(len(ranks)) as pool:
        futures = [pool.submit(attended, rank) for rank in range(len(ranks))]
        for future in futures:
            future.exception(SECONDS)
    return futures


def to_the_right(peer: Peer) -> Tensor | None:
    """Send one's number to the right, and return what comes from the left."""
    world = peer.world
    return peer.exchange(torch.tensor(peer.rank), (peer.rank + 1) % world, (peer.rank - 1) % world)


@pytest.mark.parametrize("world", [2, 3, 7])
def test_all_exchange_at_once(world):
    network = Network(world)

    futures = played(*[to_the_right] * world, network=network)

    assert [future.result().item() for future in futures] == [
        (rank - 1) % world for rank in range(world)
    ]
    sent = [(m.source, m.to, m.shape, m.dtype) for m in network.sent_by(world - 1)]
    assert sent == [(world - 1, 0, (), "torch.int64")]


def test_messages_of_one_rank_keep_their_order():
    def sender(peer: Peer) -> None:
        for value in range(50):
            peer.send(torch.tensor(value), 1)

    futures = played(sender, lambda peer: [peer.recv(0).item() for _ in range(50)])

    assert futures[1].result() == list(range(50))


def test_a_message_waits_for_the_rank_that_it_is_for():
    def middle(peer: Peer) -> list[int]:
        return [peer.recv(2).item(), peer.recv(0).item()]

    futures = played(
        lambda peer: peer.send(torch.tensor(10), 1),
        middle,
        lambda peer: peer.send(torch.tensor(12), 1),
    )

    assert futures[1].result() == [12, 10]


def errors(*ranks: Callable[[Peer], Any]) -> list[str]:
    return [
        f"{type(e).__name__}: {e}" if e else "" for e in (f.exception() for f in played(*ranks))
    ]


@pytest.mark.parametrize("world", [2, 3, 5])
def test_a_circle_of_senders_is_named(world):
    def send_first(peer: Peer) -> None:
        peer.send(X, (peer.rank + 1) % world)
        peer.recv((peer.rank - 1) % world)

    found = errors(*[send_first] * world)

    steps = [f"rank {rank} sends to rank {(rank + 1) % world}" for rank in range(world)]
    assert found == [f"Mismatch: the ranks wait for each other: {', '.join(steps)}"] * world


def test_a_circle_of_some_is_told_to_who_waits_for_them():
    found = errors(
        lambda peer: peer.recv(1),
        lambda peer: peer.recv(2),
        lambda peer: peer.recv(1),
        lambda peer: None,
    )

    says = (
        "Mismatch: the ranks wait for each other: rank 1 waits for a message of rank 2, "
        "rank 2 waits for a message of rank 1"
    )
    assert found == [says, says, says, ""]


def test_who_waits_for_a_rank_that_has_returned_is_told():
    found = errors(lambda peer: None, lambda peer: peer.recv(0))

    assert found[1] == "Mismatch: rank 1 waits for a message of rank 0, which has returned"


def test_half_of_an_exchange_does_not_end_it():
    found = errors(lambda peer: peer.send(X, 1), lambda peer: peer.exchange(X, 0, 0))

    assert found == ["", "Mismatch: rank 1 sends to rank 0, which has returned"]


def test_a_rank_that_fails_leaves_the_others_with_a_consequence():
    def fails(peer: Peer) -> None:
        raise Mismatch("wrong")

    futures = played(fails, lambda peer: peer.recv(0))

    assert isinstance(futures[1].exception(), StudentError)
    assert "closed by peer: rank 0 has failed" in str(futures[1].exception())


@pytest.mark.parametrize(
    ("x", "to", "says"),
    [
        (X, 2, "to=2, but ranks are 0 to 1"),
        (X, -1, "to=-1, but ranks are 0 to 1"),
        (X, 10**40, "but ranks are 0 to 1"),
        (X, 0, "to=0 is this rank"),
        (X, True, "to is"),
        (X, "1", "to is"),
        ([1], 1, "a message is"),
        (None, 1, "a message is"),
    ],
)
def test_what_cannot_be_said_is_refused(x, to, says):
    peer = Network(2).peer(0)

    with pytest.raises(Refusal, match=says):
        peer.send(x, to)
    with pytest.raises(Refusal):
        peer.exchange(x, to, 1)


def test_what_cannot_be_heard_is_refused():
    peer = Network(2).peer(1)

    for source in (1, 2, None):
        with pytest.raises(Refusal):
            peer.recv(source)
