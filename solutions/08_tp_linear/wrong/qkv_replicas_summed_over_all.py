"""The gradients of different heads are added up.

From: variants/plain.py
Fails: qkv
"""


class Replicate(torch.autograd.Function):
    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        wk, wv = (grad.contiguous().clone() for grad in grads)
        dist.all_reduce(wk, group=ctx.group)
        dist.all_reduce(wv, group=ctx.group)
        return wk, wv, None, None, None
