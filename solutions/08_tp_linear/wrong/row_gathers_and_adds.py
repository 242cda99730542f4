"""The products are gathered and added on every rank.

From: variants/plain.py
Fails: row
"""


class RowParallelLinear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        term = linear(x, self.weight)
        terms = [torch.empty_like(term) for _ in range(dist.get_world_size(self.group))]
        dist.all_gather(terms, term.detach(), group=self.group)
        y = term + (torch.stack(terms).sum(0) - term).detach()
        return y if self.bias is None else y + self.bias
