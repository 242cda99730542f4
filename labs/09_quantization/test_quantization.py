"""Public tests of lab 09: the examples of the handout, to try your code on as you go."""

import torch
from torch import Tensor

from grader.suite import Proxy, assert_close, assert_equal, check, expect, task

# The row of the handout, two groups of four: steps of 0.5 from -2 on, and of 1 from 0 on.
W = torch.tensor([[-2.0, 0.0, 1.5, 5.5, 15.0, 1.0, 2.0, 0.0]])
PACKED = torch.tensor([[0x40, 0xF7, 0x1F, 0x02]], dtype=torch.uint8)
SCALE, ZERO = torch.tensor([[0.5, 1.0]]), torch.tensor([[4, 0]], dtype=torch.uint8)


@task("int8")
def test_example_of_int8(student):
    """The largest magnitude of a row becomes 127, and halves go to the even code."""
    w = torch.tensor([[254.0, -3.0, 5.0, 0.5], [0.0, 0.0, 0.0, 0.0]])

    q, scale = expect(student.quantize_int8(w), tuple[Tensor, Tensor])

    want = torch.tensor([[127, -2, 2, 0], [0, 0, 0, 0]], dtype=torch.int8)
    assert_equal(scale, torch.tensor([2.0, 1.0]), "scale")
    assert_equal(q, want, "the codes")
    back = torch.tensor([[254.0, -4.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert_equal(student.dequantize_int8(q, scale), back, "what comes back")


@task("int4")
def test_example_of_int4(student):
    """Two codes share a byte, the even column in its low half."""
    got = expect(student.quantize_int4(W, 4), tuple[Tensor, Tensor, Tensor])

    for value, want, what in zip(
        got, (PACKED, SCALE, ZERO), ("packed", "scale", "zero"), strict=True
    ):
        assert_equal(value, want, what)
    assert_equal(student.dequantize_int4(PACKED, SCALE, ZERO, 4), W, "what comes back")


@task("linears")
def test_example_of_linears(student):
    """A quantized layer multiplies with what is left of the weight."""
    linear = student.handle("nn", given="llama").Linear(8, 1)
    linear.load_state_dict({"weight": W, "bias": torch.tensor([10.0])}, assign=True)
    x = torch.arange(1.0, 9.0)[None]

    int4 = expect(student.handle("Int4Linear").from_float(linear, group=4), Proxy)
    int8 = expect(student.handle("Int8Linear").from_float(linear), Proxy)

    assert_close(int4(x), torch.tensor([[10 + 119.5]]), "matmul", inner=8)
    q = torch.tensor([-17.0, 0.0, 13.0, 47.0, 127.0, 8.0, 17.0, 0.0])
    want = 10 + (q * x).sum(-1, keepdim=True) * (15 / 127)
    assert_close(int8(x), want, "matmul", inner=8)


@task("kernel")
def test_example_of_the_kernel(student):
    """int4_matmul multiplies with packed weights."""
    x = torch.stack((torch.arange(1.0, 9.0), torch.ones(8)))

    got = student.int4_matmul(x, PACKED, SCALE, ZERO, 4)

    assert_close(got, torch.tensor([[119.5], [23.0]]), "matmul", inner=8)


@task("model")
def test_example_of_the_model(student):
    """Linear layers are replaced in a new model, but not those that skip names."""
    modules = student.handle("nn", given="llama")
    model = modules.ModuleDict({"proj": modules.Linear(32, 3), "lm_head": modules.Linear(32, 5)})

    new = expect(student.quantize_model(model, student.handle("Int8Linear")), Proxy)

    for part, want in (("proj", "Int8Linear"), ("lm_head", "Linear")):
        kind = expect(new.get_submodule(part), Proxy).kind_
        check(kind == want, f"{part} is a {kind}, not a {want}")
    kind = expect(model.get_submodule("proj"), Proxy).kind_
    check(kind == "Linear", "the model that is passed should stay as it is")


@task("cache")
def test_example_of_the_cache(student):
    """Each token and head has a scale of its own."""
    cache = expect(student.QuantizedCache(), Proxy)
    k = torch.tensor([254.0, -3.0, 5.0, 0.5, 1.27, 0.5, -0.01, 0.0]).reshape(1, 2, 1, 4)

    keys, _ = expect(cache.update(k, -k), tuple[Tensor, Tensor])
    keys, values = expect(cache.update(2 * k, k), tuple[Tensor, Tensor])

    want = torch.tensor([254.0, -4.0, 4.0, 0.0, 1.27, 0.5, -0.01, 0.0]).reshape(1, 2, 1, 4)
    assert_close(keys, torch.cat((want, 2 * want), dim=2).double(), "elementwise")
    assert_close(values, torch.cat((-want, want), dim=2).double(), "elementwise")
    check(cache.length == 2, "length should be 2")
