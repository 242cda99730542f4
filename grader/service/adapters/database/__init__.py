"""The service's store in the course database: what must hold among processes is a transaction."""
