"""Commands that look at launches of a student's kernels: compiled, metered, timed, drawn."""
