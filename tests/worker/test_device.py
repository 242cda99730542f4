"""The device: the numbers of hidden arguments are nowhere in the submission's process."""

import ast
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from stand_ins.expectation import HERE
from stand_ins.kernel_worker import fresh_student
from stand_ins.memory_search import holds
from torch import Tensor

from grader import ROOT
from grader.errors import Mismatch, StudentError, Unsound
from grader.proxy.student import Student
from grader.timing.silence import assert_kernels_alone_compute
from grader.worker.code import kernel_syntax

DOUBLED = (HERE / "stand_ins" / "doubled.py").read_text()
COLUMNS = (HERE / "stand_ins" / "columns.py").read_text()
PATTERN = 64  # bytes
SEARCHABLE = os.geteuid() == 0  # another user's memory


@pytest.fixture(scope="module")
def kernels() -> Iterator[Student]:
    with fresh_student("cpu", DOUBLED) as made:
        yield made


@pytest.fixture(scope="module")
def columns() -> Iterator[Student]:
    with fresh_student("cpu", COLUMNS) as made:
        yield made


def begin(student: Student) -> None:
    now = time.monotonic()
    student.begin_(now + 200, now + 200, 0)


def pid(student: Student) -> int:
    return student._conversation().worker.channel.sender  # pyright: ignore[reportPrivateUsage]


def planted(*shape: int) -> tuple[Tensor, Tensor, bytes]:
    """Draw an argument and its decoy; the pattern is what the former begins with."""
    true, decoy = torch.randn(2, *shape).unbind()
    return true.clone(), decoy.clone(), true.contiguous().numpy().tobytes()[:PATTERN]


needs_root = pytest.mark.skipif(not SEARCHABLE, reason="needs root, to look into a worker")


@needs_root
def test_the_search_finds_what_is_there(kernels: Student) -> None:
    begin(kernels)
    true, _, pattern = planted(7, 10)

    kernels.in_the_body(true)  # keeps what it was given

    assert holds(pid(kernels), pattern)


@needs_root
@pytest.mark.parametrize(
    "name",
    [
        *("plain", "moved", "summed", "a_little", "by_atomics", "by_exchange", "as_an_operator"),
        *("by_torch", "by_numpy", "by_items", "into_the_result", "with_a_table", "of_two_tensors"),
    ],
)
def test_no_true_number_is_in_the_process_of_kernels(kernels: Student, name: str) -> None:
    begin(kernels)
    true, decoy, pattern = planted(7, 10)

    with kernels.decoys(20, ("sum",)):
        got = getattr(kernels, name)(kernels.hide(true, decoy))
        assert not holds(pid(kernels), pattern)
        if torch.equal(got, true * 2):
            assert not holds(pid(kernels), got.numpy().tobytes()[:PATTERN])
    assert not holds(pid(kernels), pattern)


@needs_root
@pytest.mark.parametrize("name", ["plain", "with_gradients", "numpy", "saved", "vectorised"])
def test_no_true_number_is_in_the_process_of_operators(columns: Student, name: str) -> None:
    begin(columns)
    true, _, pattern = planted(7, 10)

    with columns.torch_alone():
        getattr(columns, name)(columns.veil(true))
        assert not holds(pid(columns), pattern)
    assert not holds(pid(columns), pattern)


def norm(student: Student, hide: Any) -> Any:
    x, weight, bias = (hide(*shape) for shape in ((5, 70), (70,), (70,)))
    return student.layer_norm_forward(x, weight, bias, 1e-5)


def attention(student: Student, hide: Any) -> Any:
    return student.flash_attention(*(hide(1, 2, 33, 16) for _ in range(3)), causal=True)


def pages(student: Student, hide: Any) -> Any:
    tables, lengths = torch.tensor([[2, 0], [1, 3]]).int(), torch.tensor([20, 32]).int()
    pools = (hide(4, 2, 16, 16) for _ in range(2))
    return student.paged_attention(hide(2, 2, 16), *pools, tables, lengths)


@needs_root
@pytest.mark.parametrize(
    ("lab", "code", "ask"),
    [
        ("06_layernorm", "layernorm", norm),
        ("07_flash_attention", "flash_attention", attention),
        ("12_paged", "paged", pages),
    ],
    ids=["06", "07", "12"],
)
def test_no_true_number_is_in_the_process_of_a_model_answer(lab: str, code: str, ask: Any) -> None:
    source = (ROOT / "solutions" / lab / f"{code}.py").read_text()
    patterns: list[bytes] = []
    with fresh_student("cpu", source) as student:

        def hide(*shape: int) -> Any:
            true, decoy, pattern = planted(*shape)
            patterns.append(pattern)
            return student.hide(true, decoy)

        with student.decoys(10_000, ("sum",)) as shadow:
            ask(student, hide)
            found = [holds(pid(student), pattern) for pattern in patterns]

    assert shadow.launches
    assert found == [[]] * len(patterns)


# What a kernel's text may be


def refused(body: str, known: str = "") -> str:
    """Return why a kernel of this body is not lifted."""
    text = f"def kernel(x, y, n, BLOCK: tl.constexpr):\n    {body}\n"
    function = kernel_syntax.functions(ast.parse(text))[1]
    try:
        kernel_syntax.check(function, {"tl", *known.split()}, {"tl"})
    except kernel_syntax.Unliftable as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "open('x')",
        "exec('1')",
        "x.handle.data[0] = 1",
        "x.__class__",
        "y = x.dtype.__class__.__mro__",
        "getattr(x, 'handle')",
        "(lambda: 1)()",
        "y = [f for f in (1).__class__.__subclasses__()]",
        "interpreter_builder.binary_op(x, y, n)",
        "tl.load(x, _semantic=y)",
        "torch.add(x, y)",
        "np.add(x, y)",
        "def inner(): pass",
        "global n",
        "try:\n        pass\n    except Exception: pass",
        "with x: pass",
        "tl = x",
        "raise ValueError(x)",
        "yield x",
        "del x",
        "await x",
        "x.data = y",
        "f'{x.handle}'",
        "range.__self__",
        "print.__globals__",
        "(x, y)[0](n)",
        "tl.load(*x, **y)",
        "{1: x}",
        "b'x'.hex()",
        "'{0.handle}'.format(x)",
        "__builtins__",
    ],
)
def test_what_no_compiler_takes_is_not_lifted(body: str) -> None:
    assert refused(body)


@pytest.mark.parametrize(
    "body",
    [
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "tl.store(y + n, tl.load(x + n, mask=n < 3, other=0.0).to(tl.float32))",
        "for i in range(0, n, BLOCK):\n        y += i",
        "for i in tl.static_range(2):\n        y = helper(x, LIMIT)",
        "while n > 0:\n        n -= 1",
        "y = tl.where(x > 0, x, float('-inf')) if BLOCK > 2 else x",
        "y = tl.sum(x.to(y.dtype.element_ty), axis=0)[:, None]",
        "a, b = tl.max(x, 0, return_indices=True)",
        "tl.static_assert(BLOCK <= 64, f'{BLOCK} is too large')",
        "y = tl.math.exp2(x) + x.shape[0]",
        "x.T.permute(1, 0)",
    ],
)
def test_what_a_compiler_takes_is_lifted(body: str) -> None:
    assert not refused(body, "helper LIMIT")


# What the device does for whom


def test_a_kernel_that_python_alone_could_run_is_told_by_its_line(kernels: Student) -> None:
    begin(kernels)
    true, decoy, _ = planted(7, 10)

    with (
        pytest.raises(Mismatch, match=r"by its text alone.*HELD: no number.*line \d+"),
        kernels.decoys(20),
    ):
        kernels.from_a_block(kernels.hide(true, decoy))


def doubles(student: Student, name: str) -> None:
    assert_kernels_alone_compute(
        *(student, getattr(student, name), lambda: (torch.randn(7, 9),), lambda x: (x * 2,), "y"),
        elements=20,
        free=("sum",),
    )


@pytest.mark.parametrize(
    ("name", "line"), [("beside", "tl.load(x + i) * 2"), ("half_beside", "pairs =")]
)
def test_a_load_of_no_tensors_memory_is_told_at_its_line(
    kernels: Student, name: str, line: str
) -> None:
    begin(kernels)

    with pytest.raises(Unsound) as told:
        doubles(kernels, name)

    assert line in str(told.value)
    said = "outside: Program 0 reads memory of no tensor that it was passed, in 1 lane"
    assert said in str(told.value)


@pytest.mark.parametrize("name", ["plain", "with_a_table", "of_two_tensors", "by_exchange"])
def test_masked_loads_are_no_loads_beside_tensors(kernels: Student, name: str) -> None:
    begin(kernels)

    doubles(kernels, name)


def test_an_argument_that_no_kernel_takes_is_named(kernels: Student) -> None:
    begin(kernels)
    true, decoy, _ = planted(7, 10)

    said = "double_kernel: its argument n is of type numpy.int64; a kernel takes tensors"
    with pytest.raises(StudentError, match=said), kernels.decoys(20):
        kernels.with_a_number_of_numpy(kernels.hide(true, decoy))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("from_a_comprehension", "np: no name that this kernel has"),
        ("as_a_constant", "x: a kernel gets a tensor by itself, or in a tuple, as a pointer"),
    ],
)
def test_a_kernel_gets_no_more_than_a_compiler_gives(kernels: Student, name: str, why: str) -> None:
    begin(kernels)
    true, decoy, _ = planted(7, 10)

    with pytest.raises(Mismatch, match=why), kernels.decoys(20):
        getattr(kernels, name)(kernels.hide(true, decoy))


LIES = """
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack


def probe():
    return next(mode for mode in _get_current_dispatch_mode_stack() if hasattr(mode, "_places"))


def asks_on(x):
    link, numbers = probe()._link, []
    for row in range(x.shape[0]):
        row_of = probe()._places.of(x[row])
        told = {"op": "number", "name": "_local_scalar_dense", "overload": "default"}
        link.send({**told, "values": [[{"T": row_of}], {"d": []}]})
        probe()._sent += 1
        numbers.append(link.receive()[0]["number"])
    return [number for number in numbers if number is not None]


def sends(x, header):
    probe()._told(header)
    return x * 1
"""


def operator(name: str, overload: str) -> dict[str, Any]:
    return {"name": name, "overload": overload, "values": [[], {"d": []}], "outs": []}


ONES = {"name": "ones", "overload": "default", "values": [[[1]], {"d": []}]}
MANY = {**ONES, "values": [[[1000]], {"d": []}]}
NOTHING = {"op": "run", **ONES, "outs": [None]}
# Operators that believe indices, sizes or strides, give another storage, or tell of the machine.
UNKNOWN = (
    *(("_embedding_bag", "default"), ("embedding_dense_backward", "default")),
    *(("lu_unpack", "default"), ("_fft_c2r", "default"), ("_reshape_alias", "default")),
    *(("resize_", "default"), ("set_", "source_Tensor"), ("_nested_view_from_buffer", "default")),
    *(
        ("max_unpool2d", "default"),
        ("_weight_int4pack_mm", "default"),
        ("mkldnn_linear", "default"),
    ),
    *(("_cudnn_rnn", "default"), ("native_layer_norm_backward", "default"), ("save", "default")),
)


@pytest.fixture(scope="module")
def liar() -> Iterator[Student]:
    with fresh_student("cpu", LIES) as made:
        yield made


def test_no_more_numbers_are_told_than_may_be(liar: Student) -> None:
    begin(liar)
    x = torch.randn(50)

    with liar.torch_alone(numbers=7):
        told = liar.asks_on(liar.veil(x))

    assert told == pytest.approx(x[:7].tolist())


def test_asking_for_a_number_changes_nothing(liar: Student) -> None:
    begin(liar)
    x = torch.randn(5)
    place = {"T": [0, 0, "float32", [5], [1]]}
    doubles = {"op": "number", "name": "mul_", "overload": "Scalar"}

    with liar.torch_alone():
        got = liar.sends(liar.veil(x), {**doubles, "values": [[place, 2], {"d": []}]})

    assert torch.equal(got, x)


def test_what_the_device_does_is_counted_there(liar: Student) -> None:
    begin(liar)

    with liar.torch_alone(), liar.operators() as seen, liar.largest_tensor() as largest:
        liar.sends(liar.veil(torch.randn(5)), {"op": "run", **MANY, "outs": [None]})

    assert seen.seen == {"ones": 1000, "mul": 5}
    assert largest.elements == 1000


@pytest.mark.parametrize(
    "header",
    [
        {"op": "read"},
        {
            "op": "run",
            "name": "from_file",
            "overload": "default",
            "values": [[], {"d": []}],
            "outs": [],
        },
        {
            "op": "run",
            "name": "__class__",
            "overload": "default",
            "values": [[], {"d": []}],
            "outs": [],
        },
        {"op": "run", **operator("mul", "op")},
        *({"op": "run", **operator(*name)} for name in UNKNOWN),
        {"op": "launch", "kernel": [1, "x"], "values": [], "names": {}},
        {"op": "plain", "number": -1},
        {"op": ["run"]},
        {},
    ],
    ids=str,
)
def test_messages_of_no_sense_fail_the_call(liar: Student, header: dict[str, Any]) -> None:
    begin(liar)

    with pytest.raises(StudentError), liar.torch_alone():
        liar.sends(liar.veil(torch.randn(5)), header)
    begin(liar)
    with liar.torch_alone():  # the next watch is whole
        x = torch.randn(5)
        assert torch.equal(liar.sends(liar.veil(x), NOTHING), x)
