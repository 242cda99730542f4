"""q, k and v of all ranks are gathered and cut again.

From: variants/plain.py
Fails: qkv
"""


class QKVParallelLinear(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
        if self.replicated:
            wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
        q = Gather.apply(linear(x, self.wq), self.group)
        return (
            part(q, q.dim() - 1, dist.get_rank(self.group), dist.get_world_size(self.group)),
            linear(x, wk),
            linear(x, wv),
        )
