"""Sessions that look and grade nothing: kernels compiled, launches metered, tests told."""
