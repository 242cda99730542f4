// Register demo93::twice here.
