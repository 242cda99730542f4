"""Hidden suite of the demo lab: tensors, an object with state, callbacks both ways, a record."""

import math

import pytest
import torch
from torch import Tensor

from grader.suite import Proxy, assert_close, assert_equal, assert_unmodified, check, expect, task

SECRET = "canary-5d1f0c7ae2b94836"  # tests look for it in everything that a submission can reach
VOCABULARY = 11


@task("scale", gate=True)
@pytest.mark.parametrize("shape", [(2, 3, 5), (7, 33)], ids=["2-3-5", "7-33"])
def test_values(student, draw, shape):
    """scale multiplies every value by the factor."""
    x = draw.normal(*shape)

    got = student.scale(x, 1.7)

    assert_close(got, x.double() * 1.7, "elementwise", like=x)


@task("scale", gate=True, weight=0.0)
def test_scale_is_your_own(student, draw):
    """scale multiplies with the operator."""
    x = draw.normal(3, 7)

    with student.guard():
        got = student.scale(x, 1.7)

    assert_close(got, x.double() * 1.7, "elementwise", like=x)


@task("scale")
def test_view_is_left_alone(student, draw):
    """scale reads a view and writes nowhere."""
    base = torch.full((5, 9), math.nan)
    base[:, 1:8] = draw.normal(5, 7)
    view = student.watch(base[:, 1:8])

    got = student.scale(view, -3.0)

    assert_close(got, base[:, 1:8].double() * -3.0, "elementwise", like=base)
    assert_unmodified(view)


@task("scale")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_dtype_is_kept(student, draw, dtype):
    """scale returns the dtype that it was given."""
    x = draw.normal(3, 13, dtype=dtype)

    got = student.scale(x, 0.3)

    assert_close(got, x.double() * 0.3, "elementwise", like=x)


@task("scale")
def test_infinities_survive(student, draw):
    """scale keeps infinities and NaN where they are."""
    x = draw.normal(3, 5)
    x[0, 1], x[1, 2], x[2, 3] = math.inf, -math.inf, math.nan

    got = student.scale(x, -2.0)

    assert_close(got, x.double() * -2.0, "elementwise", like=x)


@task("scale")
def test_factor_must_be_finite(student, draw):
    """scale refuses a factor that is not finite, and names it."""
    with student.raises(ValueError, naming="factor"):
        student.scale(draw.normal(2, 3), math.inf)


def filled(student, draw, rows, capacity):
    """Return a store of the submission and what was put into it."""
    store = student.Store(student.record("EchoConfig", width=4, capacity=capacity))
    expect(store, Proxy, "Store(config)")
    values = draw.normal(rows, 4)
    for row in values:
        store.append(row)
    return store, values


@task("store", gate=True)
def test_rows_come_back(student, draw):
    """rows returns what was appended, in order."""
    store, values = filled(student, draw, 3, 5)

    assert_equal(store.rows(), values)
    assert_equal(store.length, 3, "length")


@task("store")
def test_config_is_kept(student, draw):
    """config is the configuration that the store was made with."""
    store, _ = filled(student, draw, 1, 5)

    assert_equal(store.config, student.record("EchoConfig", width=4, capacity=5), "config")


@task("store")
def test_full_store_refuses(student, draw):
    """A full store raises a ValueError that names its capacity, and stays as it was."""
    store, values = filled(student, draw, 2, 2)

    with student.raises(ValueError, naming="capacity"):
        store.append(draw.normal(4))

    assert_equal(store.rows(), values)
    assert_equal(store.length, 2, "length")


class Script:
    """A model that answers by the whole history and keeps a row for each call."""

    width = 6

    def __init__(self, prompt: list[int]) -> None:
        self.history = list(prompt)
        self.rows: list[Tensor] = []

    def __call__(self, tokens: object, store: object = None) -> Tensor:
        assert_equal(tokens, torch.tensor([self.history]), "the model's tokens")
        self.remember(expect(store, Proxy, "the model's store"))
        answer = (sum(self.history) * 7 + len(self.history)) % VOCABULARY
        self.history.append(answer)
        logits = torch.zeros(1, VOCABULARY)
        logits[0, answer] = 1.0
        return logits

    def remember(self, store: Proxy) -> None:
        assert_equal(store.length, len(self.rows), "the store's length")
        self.rows.append(torch.full((self.width,), float(len(self.rows))))
        store.append(self.rows[-1])
        assert_equal(store.rows(), torch.stack(self.rows), "the store's rows")


@task("loop", gate=True)
@pytest.mark.parametrize("steps", [1, 5])
def test_follows_the_model(student, draw, steps):
    """generate takes the model's best token at each step, one call a step."""
    prompt = draw.tokens(VOCABULARY, 3)
    model = Script(prompt)

    got = student.generate(student.lend(model, attributes=("width",)), prompt, steps)

    assert_equal(expect(got, list[int]), model.history[3:], "the tokens")
    check(len(model.rows) == steps, f"{steps} steps took {len(model.rows)} calls")


@task("loop")
def test_no_step_makes_no_call(student, draw):
    """No steps: no token and no call."""
    model = Script(prompt := draw.tokens(VOCABULARY, 3))

    got = student.generate(student.lend(model, attributes=("width",)), prompt, 0)

    assert_equal(got, [], "the tokens")
    check(not model.rows, "the model was called")
