"""What stands before every request: whose it is, how large and how fast it may be."""
