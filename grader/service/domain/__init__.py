"""What the service deals with, as frozen data, and what it refuses."""
