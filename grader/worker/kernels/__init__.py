"""Triton's interpreter as a worker has it: mended where it is wrong."""
