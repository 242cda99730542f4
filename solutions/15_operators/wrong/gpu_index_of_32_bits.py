"""The index of a thread is an int.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   return (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
+   return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * N;
""",
}
