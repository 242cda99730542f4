"""The pytest plugin of a session: what runs, in which order, whose fault an exception is."""
