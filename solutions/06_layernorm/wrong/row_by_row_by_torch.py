"""torch normalises one row after the other; the kernel that is launched does nothing.

From: variants/simple.py
Fails: forward, backward, speed
"""

LINES = {
    "layer_norm_forward": r"""
-         block = triton.next_power_of_2(width)
-         warps = min(max(block // 1024, 4), 32)
-         weight, bias, stride = weight.contiguous(), bias.contiguous(), rows.stride(0)
-         forward_kernel[(num_rows,)](
-             rows, weight, bias, y, mean, rstd, width, stride, eps, BLOCK=block, num_warps=warps
-         )
+         forward_kernel[(num_rows,)](mean)
+         for row, out in enumerate(y.view(-1, width)):
+             value = rows[row].float()
+             mean[row] = value.mean()
+             apart = value - mean[row]
+             rstd[row] = (apart.square().mean() + eps).rsqrt()
+             out.copy_(apart * rstd[row] * weight.float() + bias.float())
""",
}


@triton.jit
def forward_kernel(mean):
    tl.store(mean + tl.program_id(0), 0.0)
