"""What students handed in until a deadline, out of their repositories, frozen."""
