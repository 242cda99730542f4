"""The holders' sum is made of what has accumulated, sums of earlier steps included.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "": r"""
          self.group, self.replicated = group, shards < world
+         if self.replicated:
+             self.wk.register_post_accumulate_grad_hook(self.sum_holders)
+             self.wv.register_post_accumulate_grad_hook(self.sum_holders)
+
+     def sum_holders(self, weight: Tensor) -> None:
+         slots = weight.new_zeros(self.heads, *weight.shape)
+         slots[self.head] = weight.grad
+         with torch.no_grad():
+             dist.all_reduce(slots, group=self.group)
+             weight.grad.copy_(slots[self.head])

      def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
-         x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
-         if self.replicated:
-             wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
-         return linear(x, self.wq), linear(x, wk), linear(x, wv)
+         x = Copy.apply(x, self.group)
+         return linear(x, self.wq), linear(x, self.wk), linear(x, self.wv)
""",
}
