"""The shards are gathered into the full weight, which does the work.

From: variants/plain.py
Fails: column
"""


class ColumnParallelLinear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rank, world = dist.get_rank(self.group), dist.get_world_size(self.group)
        parts = [torch.empty_like(self.weight) for _ in range(world)]
        dist.all_gather(parts, self.weight.detach(), group=self.group)
        parts[rank] = self.weight
        y = linear(Copy.apply(x, self.group), torch.cat(parts))
        size = self.weight.shape[0]
        y = y if self.gather_output else y.narrow(-1, rank * size, size)
        return y if self.bias is None else y + self.bias
