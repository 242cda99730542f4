"""What was proven is not proven again as long as nothing that decided it has changed."""
