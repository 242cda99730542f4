"""What a kernel does that a GPU would not forgive, found in each of its launches."""
