"""What tests measure around calls, each with the form that its reading must have."""
