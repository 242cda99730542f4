"""The submission's code as text and lines: where it failed, what its kernels are."""
