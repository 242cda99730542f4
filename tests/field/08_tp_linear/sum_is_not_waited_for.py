"""The sum is begun, and the bias added before it has ended.

From: variants/plain.py
Kind: state
Report: https://github.com/OpenNMT/OpenNMT-py/issues/2295
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = Begun.apply(linear(x, self.weight), self.group)
""",
}


class Begun(Sum):
    @staticmethod
    def forward(ctx: Any, term: Tensor, group: ProcessGroup | None) -> Tensor:
        total = term.clone()
        dist.all_reduce(total, group=group, async_op=True)
        return total
