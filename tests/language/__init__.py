"""Small kernels for each public name of ``triton.language``, with what torch says of them."""
