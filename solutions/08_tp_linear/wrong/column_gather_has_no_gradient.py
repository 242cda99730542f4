"""all_gather fills tensors that autograd knows nothing of.

From: variants/plain.py
Fails: column
"""


class ColumnParallelLinear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = linear(Copy.apply(x, self.group), self.weight, self.bias)
        if not self.gather_output:
            return y
        parts = [torch.empty_like(y) for _ in range(dist.get_world_size(self.group))]
        dist.all_gather(parts, y.detach().contiguous(), group=self.group)
        return torch.cat(parts, dim=-1)
