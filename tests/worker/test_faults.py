"""What is told of exceptions, as data."""

import torch
from torch import Tensor

from grader.worker.code.faults import describe


def test_page_of_torchs_compiler_is_told_by_its_reason_and_the_lines_of_the_submission() -> None:
    @torch.compile(backend="eager", fullgraph=True)
    def step(x: Tensor) -> Tensor:
        return inner(x)

    def inner(x: Tensor) -> Tensor:
        print(x)
        return x

    def run() -> dict[str, object]:
        try:
            step(torch.ones(2))
        except Exception as error:
            return describe(error, __file__)
        raise AssertionError("nothing was raised")

    told = run()

    message, line = str(told["message"]), inner.__code__.co_firstlineno
    assert message.startswith("Failed to trace builtin operator: Dynamo does not know")
    assert "\n" not in message
    assert told["frames"][-2:] == [[line - 2, "step"], [line + 1, "inner"]]  # type: ignore[index]


def test_other_messages_stay_as_they_are() -> None:
    text = "from user code:\nExplanation: none"

    assert describe(ValueError(text), __file__)["message"] == text
