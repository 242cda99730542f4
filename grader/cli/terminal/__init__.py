"""What commands share of a terminal: options, signs of life, files that are watched."""
