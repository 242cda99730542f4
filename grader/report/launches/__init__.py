"""Compiled and metered launches of kernels, as tables, as a page, as a roofline."""
