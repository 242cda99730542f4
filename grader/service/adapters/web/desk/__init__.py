"""Pages of the instructor's desk: what people read, ask, compare and grant."""
