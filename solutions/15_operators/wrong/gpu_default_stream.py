"""Kernels are launched on the default stream.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(t.get_device_index(), &stream));
+   (void)t;
""",
}
