"""Groups of ranks: joined, called at once, told apart when one of them hangs."""
