"""The submission's side of numbers that kernels alone see: decoys stand in for them."""
