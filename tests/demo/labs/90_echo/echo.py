"""Echo: the smallest lab that uses every kind of traffic between a judge and a submission.

T tokens so far, V vocabulary, W width of a row.
"""

from torch import Tensor

from labs.common import EchoConfig


def scale(
    x: Tensor,  # [..., N]
    factor: float,  # finite
) -> Tensor:  # [..., N]
    """Multiply in float32, round once to x's dtype. A factor that is not finite raises."""
    raise NotImplementedError("scale: scale")


class Store:
    """Rows in the order in which they came, at most ``config.capacity`` of them."""

    def __init__(self, config: EchoConfig) -> None:
        raise NotImplementedError("store: Store")


def generate(
    model,  # model(tokens [1, T], store=store) -> logits [1, V]; it may append to the store
    prompt: list[int],
    steps: int,
) -> list[int]:
    """Take the best next token ``steps`` times; one call and one store for the whole sequence."""
    raise NotImplementedError("loop: generate")
