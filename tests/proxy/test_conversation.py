"""The trusted end of the wire: deadlines, callbacks both ways, lent objects, probes, lies.

The other end is our own worker, in a thread, so that a test takes milliseconds; hostile replies are
written by hand. What needs a process of its own is in test_sandbox and test_judge.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from stand_ins.threaded import SOURCE, Thread, serve_source

from grader.errors import (
    Mismatch,
    StudentCrashed,
    StudentError,
    StudentMemory,
    StudentTimeout,
)
from grader.judge.plugin.draw import Draw
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.loans.loans import Loan, Loans, Refusal
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.series import together
from grader.proxy.values.compare import assert_unmodified, assert_written
from grader.proxy.values.values import Proxy
from grader.sandbox.pace import PACE
from grader.wire.channel import PREFIX
from grader.wire.codec import Record


@contextmanager
def talking(
    serve: Callable[[socket.socket, tuple[int, int]], None] = serve_source,
    seconds: float = 30.0,
    device: str = "cpu",
) -> Iterator[Conversation]:
    worker = Thread(serve)
    try:
        yield Conversation(worker, device, Clock(seconds), SOURCE)  # type: ignore[arg-type]
    finally:
        worker.join()


@pytest.fixture
def talk() -> Iterator[Conversation]:
    with talking() as conversation:
        yield conversation


def call(talk: Conversation, name: str, *args: Any, **kwargs: Any) -> Any:
    return talk.call(["function", name], args, kwargs)


def lend(target: Any, *attributes: str, methods: Any = ("__call__",), keep: bool = False) -> Loan:
    return Loan(target, tuple(methods), attributes, keep)


# -- values and objects -----------------------------------------------------------------------


def test_arguments_arrive_and_values_come_back(talk: Conversation) -> None:
    x = torch.randn(3, 4)

    (a, b, (c,)), kwargs = call(talk, "echo", x.T, 2, ("deep",), flag=None)

    assert torch.equal(a, x.T)
    assert a.is_contiguous()
    assert type(a) is torch.Tensor
    assert (b, c, kwargs) == (2, "deep", {"flag": None})


def test_object_answers_methods_attributes_and_calls(talk: Conversation) -> None:
    box = call(talk, "Box", 4)

    assert isinstance(box, Proxy)
    assert (box.kind_, box.value, box.get(), box(3)) == ("Box", 4, 4, 7)
    box.set(9)
    assert call(talk, "use", box, 1) == 10
    assert "Box" in repr(box)


def test_function_of_tensors_may_return_an_object(talk: Conversation) -> None:
    box = call(talk, "Box", torch.ones(2))

    assert isinstance(box, Proxy)
    assert torch.equal(box.get(), torch.ones(2))


def test_object_forwards_no_operators(talk: Conversation) -> None:
    box = call(talk, "Box", 4)

    assert (box == 4) is False
    for operation in (len, iter, int, lambda b: b + 1, lambda b: b[0]):
        with pytest.raises(TypeError):
            operation(box)
    with pytest.raises(AttributeError):
        box.__wrapped__  # noqa: B018


def test_generator_repeats(talk: Conversation) -> None:
    seed = Draw(1, "a test").seed

    one, two = (call(talk, "same", torch.Generator().manual_seed(seed)) for _ in range(2))

    assert isinstance(one, Proxy)
    assert one.initial_seed() == two.initial_seed() == seed


def test_what_cannot_cross_is_our_own_mistake(talk: Conversation) -> None:
    with pytest.raises(TypeError, match="cannot be passed"):
        call(talk, "same", object())
    assert talk.over


# -- exceptions -------------------------------------------------------------------------------


def test_exception_brings_kind_message_bases_and_own_lines(talk: Conversation) -> None:
    with pytest.raises(StudentError) as caught:
        call(talk, "bad")

    error = caught.value
    assert (error.kind, error.message) == ("ValueError", "the width is wrong")
    assert error.bases[:2] == ("ValueError", "Exception")
    assert [(f.function, f.source) for f in error.frames] == [
        ("bad", 'raise ValueError("the width is wrong")')
    ]
    assert call(talk, "same", 1) == 1


def test_missing_name_says_so(talk: Conversation) -> None:
    with pytest.raises(StudentError, match=r"echo\.py defines no unicorn"):
        call(talk, "unicorn")


def test_memory_error_is_a_verdict_of_its_own(talk: Conversation) -> None:
    with pytest.raises(StudentMemory, match="no more"):
        call(talk, "out_of_memory")
    assert talk.over


# -- deadlines --------------------------------------------------------------------------------


def test_call_ends_at_its_deadline_and_the_worker_with_it() -> None:
    with talking(seconds=0.3) as talk:
        started = time.monotonic()

        with pytest.raises(StudentTimeout, match="nap did not end within its time limit"):
            call(talk, "nap", 1)

        assert time.monotonic() - started < 2
        assert talk.worker.killed  # type: ignore[attr-defined]
        with pytest.raises(StudentCrashed, match="stopped earlier in this test"):
            call(talk, "same", 1)


@pytest.mark.parametrize(
    ("limit", "message"), [("test", "of this test together"), ("grading", "the grading ran")]
)
def test_deadlines_of_test_and_grading_cover_a_call(limit: str, message: str) -> None:
    with talking() as talk:
        setattr(talk._clock, limit, PACE.now() + 0.3)

        with pytest.raises(StudentTimeout, match=message):
            call(talk, "nap", 1)


def test_deadline_covers_callbacks() -> None:
    """Each callback and each call back is quick; together they run into the outer deadline."""
    with talking(seconds=0.4) as talk:
        box = call(talk, "Box", 1)

        def slow(_: int) -> int:
            time.sleep(0.05)
            return box.get()

        started = time.monotonic()
        with pytest.raises(StudentTimeout):
            call(talk, "swallow", lend(slow), 1000)
        assert time.monotonic() - started < 2


def test_worker_that_reads_nothing_is_late() -> None:
    with talking(lambda sock, _: time.sleep(1), seconds=0.3) as talk:
        with pytest.raises(StudentTimeout):
            call(talk, "same", "a" * (1 << 20))


# -- lent objects -----------------------------------------------------------------------------


class Model:
    vocabulary = 7
    secret = "the answers"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.seen.append(x)
        return torch.ones(2) * self.vocabulary

    def forward(self, x: Any, *, scale: int = 1) -> Any:
        return x * scale

    def hidden(self) -> str:
        return self.secret


def test_lent_object_is_called_here(talk: Conversation) -> None:
    model = Model()

    got = call(talk, "use", lend(model), [1, 2])

    assert got.tolist() == [7, 7]
    assert model.seen == [[1, 2]]


class Walker:
    def __init__(self) -> None:
        self.place = 3
        self.looks = 0

    @property
    def at(self) -> int:
        self.looks += 1
        return self.place

    def go(self, steps: int) -> None:
        if steps > 9:
            raise Refusal(ValueError("too far"))
        self.place += steps


@pytest.mark.parametrize(("steady", "looks"), [(True, 4), (False, 5)])
def test_attributes_travel_with_the_answers_of_a_steady_object(
    talk: Conversation, steady: bool, looks: int
) -> None:
    walker = Walker()

    got = call(talk, "walk", Loan(walker, ("go",), ("at",), keep=False, steady=steady), [4, 2])

    assert got == [3, None, 7, 7, None, 9, 9]
    assert walker.looks == looks
    walker.place = 1  # between calls the judge may change what it likes
    assert call(talk, "attribute", Loan(walker, (), ("at",), False, steady), "at") == 1


def test_refused_call_of_a_steady_object_tells_nothing(talk: Conversation) -> None:
    walker = Walker()
    with pytest.raises(StudentError, match="too far"):
        call(talk, "walk", Loan(walker, ("go",), ("at",), keep=False, steady=True), [10])


def test_only_listed_names_are_reachable(talk: Conversation) -> None:
    model = lend(Model(), "vocabulary", methods=("forward",))

    assert call(talk, "attribute", model, "vocabulary") == 7
    for name in ("secret", "seen", "hidden", "__class__name", "__dict__x"):
        with pytest.raises(StudentError, match="AttributeError"):
            call(talk, "attribute", model, name)
    with pytest.raises(StudentError, match="TypeError"):
        call(talk, "use", model, 1)  # not listed as callable


@pytest.mark.parametrize("name", ["secret", "hidden", "__init__", "__class__", "vocabulary"])
def test_judge_itself_refuses_names_that_are_not_listed(name: str) -> None:
    """A submission may rewrite its stub: the list that counts is ours."""
    loans = Loans()
    number = loans.lend(lend(Model(), "vocabulary"), depth=0)

    for value in (((1,), {}), 3, ((), {}, 1)):
        with pytest.raises(Refusal, match="has no"):
            loans.use(number, name, value)


def test_wrong_arguments_are_the_submissions_mistake(talk: Conversation) -> None:
    with pytest.raises(StudentError, match="TypeError"):
        call(talk, "use", lend(Model()), 1, 2, 3)


def test_refusal_reaches_the_submission(talk: Conversation) -> None:
    def refuse(_: Any) -> None:
        raise Refusal(ValueError("the cache is full"))

    with pytest.raises(StudentError, match="ValueError: the cache is full"):
        call(talk, "use", lend(refuse), 1)
    assert call(talk, "swallow", lend(refuse), 2) == "fine"


def test_mismatch_in_a_lent_object_cannot_be_swallowed(talk: Conversation) -> None:
    calls: list[int] = []

    def model(x: int) -> None:
        calls.append(x)
        raise Mismatch("the tokens are wrong")

    with pytest.raises(Mismatch, match="the tokens are wrong"):
        call(talk, "swallow", lend(model), 3)
    assert calls == [1]
    assert talk.over


def test_lent_object_expires_with_the_call(talk: Conversation) -> None:
    model = Model()
    call(talk, "keep", lend(model))

    with pytest.raises(StudentError, match="only during the call it was passed to"):
        call(talk, "use_kept")
    assert model.seen == []


def test_kept_object_lives_until_the_test_ends(talk: Conversation) -> None:
    model = Model()
    call(talk, "keep", lend(model, keep=True))

    assert call(talk, "use_kept").tolist() == [7, 7]
    talk.begin()
    with pytest.raises(StudentError, match="only during the call it was passed to"):
        call(talk, "use_kept")
    assert model.seen == [5]


def test_calls_nest_in_both_directions(talk: Conversation) -> None:
    def model(box: Proxy) -> int:
        return box.get() * 100 + call(talk, "use", lend(lambda x: x + 1), 6)

    assert call(talk, "hand_over", lend(model)) == 307


def test_inner_loan_ends_before_the_outer(talk: Conversation) -> None:
    inner = Model()

    def model(_: Proxy) -> int:
        call(talk, "keep", lend(inner))
        return 1

    call(talk, "hand_over", lend(model))

    with pytest.raises(StudentError, match="only during the call"):
        call(talk, "use_kept")
    assert inner.seen == []


def test_exception_of_the_submission_inside_our_object_ends_the_call(talk: Conversation) -> None:
    def model(box: Proxy) -> None:
        box.set(None)

    with pytest.raises(StudentError, match="value must not be None"):
        call(talk, "hand_over", lend(model))


def test_endless_nesting_is_a_crash(talk: Conversation) -> None:
    def model(x: int) -> Any:
        return call(talk, "use", lend(model), x + 1)

    with pytest.raises(StudentCrashed, match="nest too deeply"):
        call(talk, "use", lend(model), 0)


def test_only_the_main_thread_may_ask(talk: Conversation) -> None:
    model = Model()

    assert "main thread only" in call(talk, "from_thread", lend(model))
    assert model.seen == []


# -- watched arguments ------------------------------------------------------------------------


def test_untouched_argument_is_unmodified(talk: Conversation) -> None:
    watched = Watched(torch.arange(12.0).reshape(3, 4)[:, 1:3])

    call(talk, "same", watched)

    assert_unmodified(watched)


def test_write_to_an_argument_is_seen(talk: Conversation) -> None:
    watched = Watched(torch.arange(12.0).reshape(3, 4)[:, 1:3])

    with pytest.raises(StudentError):
        call(talk, "spoil", watched)

    with pytest.raises(Mismatch, match="was modified"):
        assert_unmodified(watched)


@pytest.mark.parametrize("lie", [False, True])
def test_argument_is_looked_at_whatever_the_worker_says(talk: Conversation, lie: bool) -> None:
    watched = Watched(torch.arange(12.0).reshape(3, 4)[:, 1:3])

    call(talk, "ruin", watched, lie)

    assert watched.changed
    with pytest.raises(Mismatch, match="was modified"):
        assert_unmodified(watched)


def test_argument_that_was_to_be_written_is_compared_as_a_whole(talk: Conversation) -> None:
    grid = torch.arange(12.0).reshape(3, 4)
    watched, want = Watched(grid[:, 1:3]), grid.clone()
    want[:, 1:3] = 0

    call(talk, "ruin", watched, False)

    assert_written(watched, want[:, 1:3], "x")
    want[2, 2] = 7.0
    with pytest.raises(Mismatch, match=r"1 wrong number, first at \[2, 1\]\n.*expected 7.0"):
        assert_written(watched, want[:, 1:3], "x")
    want[2, 2], want[0, 0] = 0.0, 9.0
    with pytest.raises(Mismatch, match="memory beside x was written"):
        assert_written(watched, want[:, 1:3], "x")


def test_argument_is_written_whatever_the_worker_says(talk: Conversation) -> None:
    watched = Watched(torch.ones(3))

    call(talk, "ruin", watched, True)  # tells of ones, and wrote zeros

    for want in (torch.ones(3), torch.zeros(3)):
        with pytest.raises(Mismatch, match="3 wrong numbers"):
            assert_written(watched, want, "x")


def test_argument_that_lies_elsewhere_is_not_written(talk: Conversation) -> None:
    watched = Watched(torch.ones(3))

    call(talk, "swap", watched)

    with pytest.raises(Mismatch, match="3 wrong numbers"):
        assert_written(watched, torch.zeros(3), "x")


def test_argument_with_other_memory_is_modified(talk: Conversation) -> None:
    watched = Watched(torch.ones(3))

    call(talk, "swap", watched)

    assert not watched.changed
    with pytest.raises(Mismatch, match="was modified"):
        assert_unmodified(watched)


def test_watched_arguments_arrive_as_they_are(talk: Conversation) -> None:
    grid = torch.arange(24.0).reshape(4, 6)
    parts = {
        "views": [grid[1:, ::2], grid.T],
        "narrow": torch.tensor([True, False, True]),
        "whole": torch.tensor([-3, 1 << 40]),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "nothing": torch.zeros(0, 3),
        "turned": torch.ones(2, 2, requires_grad=True),
        "plain": (1, "two", None),
    }
    watched = [Watched(parts), Watched(grid), Watched(grid)]

    got = call(talk, "echo", *watched)[0]

    assert got[0].keys() == parts.keys()
    for item, sent in zip([*got[0]["views"], *got[1:]], [*parts["views"], grid, grid], strict=True):
        assert torch.equal(item, sent)
    for name in ("narrow", "whole", "half", "nothing", "turned"):
        assert got[0][name].dtype == parts[name].dtype
        assert torch.equal(got[0][name], parts[name])
    assert got[0]["plain"] == parts["plain"]
    for item in watched:
        assert_unmodified(item)


def test_mapped_memory_ends_with_what_uses_it(talk: Conversation) -> None:
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(50):
        call(talk, "same", Watched(torch.ones(3)))

    assert len(os.listdir("/proc/self/fd")) < before + 25


def test_argument_of_a_call_that_raises_is_looked_at_too(talk: Conversation) -> None:
    """And the next watched call is not confused by it."""
    first, second = Watched(torch.ones(3)), Watched(torch.zeros(2))

    with pytest.raises(StudentError):
        call(talk, "bad", first)
    call(talk, "same", second)

    assert_unmodified(first)
    assert_unmodified(second)


def test_watched_tensor_inside_a_list(talk: Conversation) -> None:
    watched = Watched(torch.zeros(2))

    call(talk, "add_to", [watched])

    with pytest.raises(Mismatch, match="was modified"):
        assert_unmodified(watched)


def test_watched_calls_nest(talk: Conversation) -> None:
    outer, inner = Watched(torch.ones(3)), Watched(torch.ones(2))

    def model(_: Any) -> int:
        call(talk, "same", inner)
        return 1

    call(talk, "use", lend(model), outer)

    assert_unmodified(outer)
    assert_unmodified(inner)


# -- probes -----------------------------------------------------------------------------------


def test_flops_are_counted(talk: Conversation) -> None:
    with talk.probe("flops", {}) as reading:
        call(talk, "multiply", torch.ones(3, 5), torch.ones(5, 7))

    assert reading == [2 * 3 * 5 * 7]


def test_largest_tensor_is_measured_without_our_own_copies(talk: Conversation) -> None:
    with talk.probe("largest", {}) as reading:
        call(talk, "multiply", torch.ones(3, 50), torch.ones(50, 7))

    assert reading == [21]


def test_guard_sees_forbidden_calls_only_inside_its_block(talk: Conversation) -> None:
    config = {
        "names": ["torch.nn.functional.scaled_dot_product_attention"],
        "aten": ["_scaled_dot_product_*"],
        "packages": [],
        "audit": True,
    }
    q = torch.ones(1, 1, 2, 4)

    with talk.probe("guard", config) as clean:
        call(talk, "multiply", torch.ones(2, 2), torch.ones(2, 2))
    call(talk, "attend", q)
    with talk.probe("guard", config) as caught:
        call(talk, "attend", q)

    assert clean == [[]]
    assert "torch.nn.functional.scaled_dot_product_attention" in caught[0]


def test_probe_ends_although_the_code_raised(talk: Conversation) -> None:
    with pytest.raises(StudentError), talk.probe("largest", {}):
        call(talk, "bad")

    with talk.probe("largest", {}) as reading:
        call(talk, "multiply", torch.ones(1, 2), torch.ones(2, 1))
    assert reading == [1]


# -- lies -------------------------------------------------------------------------------------


def lying(*replies: Any) -> Callable[[socket.socket, tuple[int, int]], None]:
    """Return a worker that answers the first request with these headers, whatever it was."""

    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        sock.setblocking(True)
        length, inline = PREFIX.unpack(sock.recv(PREFIX.size, socket.MSG_WAITALL))
        sock.recv(length + inline, socket.MSG_WAITALL)
        for reply in replies:
            text = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            sock.sendall(PREFIX.pack(len(text), 0) + text)
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)

    return serve


def deep(depth: int) -> bytes:
    head = b'{"op":"error","id":1,"kind":"E","message":"","frames":[],"buffers":[],"bases":['
    return head + b"[" * depth + b"]" * depth + b"]}"


ERROR = {"op": "error", "id": 1, "kind": "E", "message": "", "bases": [], "frames": []}
ASK = {"op": "ask", "object": 1, "name": "__call__", "value": {"t": [{"t": []}, {"d": []}]}}


@pytest.mark.parametrize(
    "reply",
    [
        {"op": "value", "id": 2, "value": 1},
        {"op": "value", "id": True, "value": 1},
        {"op": "value", "id": 1.0, "value": 1},
        {"op": "value", "id": [1], "value": 1},
        {"op": "value", "value": 1},
        {"op": ["value"], "id": 1},
        {"op": "verdict", "id": 1, "value": "passed"},
        {"id": 1},
        {},
        {"op": "value", "id": 1, "value": {"h": [1]}},
        {"op": "value", "id": 1, "value": {"h": ["1", "Box", []]}},
        {"op": "value", "id": 1, "value": {"h": [1, 2, []]}},
        {"op": "value", "id": 1, "value": {"h": [1, "Box", {}]}},
        {"op": "value", "id": 1, "value": {"h": [1, "Box", ["get"] * 201]}},
        {"op": "value", "id": 1, "value": {"c": [1, [], []]}},
        {"op": "value", "id": 1, "value": {"w": 1}},
        {"op": "value", "id": 1, "value": {"g": 1}},
        {"op": "value", "id": 1, "value": {"r": [["a"], []]}},
        {**ERROR, "kind": None},
        {**ERROR, "message": 5},
        {**ERROR, "bases": "E"},
        {**ERROR, "bases": None},
        {**ERROR, "frames": None},
        {**ERROR, "frames": [[1, "f"]] * 51},
        {**ERROR, "frames": [["1", "f"]]},
        {**ERROR, "frames": [[1]]},
        {**ERROR, "frames": [1]},
        {**ASK, "object": None},
        {**ASK, "object": True},
        {**ASK, "name": 5},
        {**ASK, "value": {"t": [1]}},
    ],
    ids=lambda reply: json.dumps(reply)[:70],
)
def test_reply_that_no_worker_of_ours_sends_is_a_crash(reply: dict[str, Any]) -> None:
    with talking(lying({"buffers": [], **reply})) as talk:
        with pytest.raises(StudentCrashed):
            call(talk, "use", lend(Model()))
        assert talk.over


def test_question_without_a_loan_is_refused_not_served() -> None:
    model = Model()
    questions = [{**ASK, "buffers": [], "object": n} for n in (0, -1, 2, 10**30)]
    with talking(lying(*questions)) as talk:
        with pytest.raises(StudentCrashed):
            call(talk, "use", lend(model))
        assert model.seen == []


def test_bases_nested_as_deep_as_json_may_be_do_no_harm() -> None:
    """What the parser just survives must not overflow what looks at it afterwards."""
    for depth in range(700, 1000, 5):
        with talking(lying(deep(depth))) as talk:
            with pytest.raises((StudentError, StudentCrashed)) as caught:
                call(talk, "same", 1)
            assert "[[" not in str(caught.value)


def test_attributes_of_a_record_are_only_its_fields() -> None:
    tree = {"r": ["Config", [["width", 3], ["__class__", 4], ["fields", 5]]]}
    with talking(lying({"op": "value", "id": 1, "value": tree, "buffers": []})) as talk:
        got = call(talk, "same", 1)

    assert type(got) is Record
    assert (got.width, got.name) == (3, "Config")
    with pytest.raises(AttributeError):
        got.height  # noqa: B018


def test_device_that_a_worker_names_is_held_against_ours() -> None:
    tree = {"x": [0, "uint8", [0], None, "cuda:0"]}
    reply = {"op": "value", "id": 1, "value": tree, "buffers": [[0, -1]]}
    with talking(lying(reply)) as talk:
        with pytest.raises(Mismatch, match="got tensors on cpu and returned one on cuda"):
            call(talk, "same", torch.ones(1))


def test_device_of_many_results_is_that_of_the_tensors_given() -> None:
    """Who was given no tensor may make them anywhere: so ``left_pad`` does, of lists."""
    tree = {"x": [0, "uint8", [0], None, "cpu"]}
    done, kept = (
        {"op": "value", "id": number, "value": value, "buffers": buffers}
        for number, value, buffers in ((1, None, []), (2, tree, [[0, -1]]))
    )
    with talking(lying(done, kept), device="cuda") as talk:
        assert len(together(talk, ["function", "same"], [([1, 2],)])) == 1
    with talking(lying(done, kept), device="cuda") as talk:
        with pytest.raises(Mismatch, match="got tensors on cuda and returned one on cpu"):
            together(talk, ["function", "same"], [(torch.ones(1),)])


def test_stale_answer_is_a_crash() -> None:
    """A second answer to the last question is no answer to the next one."""
    answer = {"op": "value", "id": 1, "value": 1, "buffers": []}
    with talking(lying(answer, answer)) as talk:
        assert call(talk, "same", 1) == 1
        with pytest.raises(StudentCrashed):
            call(talk, "same", 1)


def test_record_goes_there_as_the_given_dataclass() -> None:
    """A field that is no field of the class is the test's mistake, told as the worker's error."""
    with talking() as talk, pytest.raises(StudentError):
        call(talk, "same", Record("Unheard", {"width": 1}))
