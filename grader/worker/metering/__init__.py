"""What launches move and compute, counted as they run, and what tuners may choose."""
