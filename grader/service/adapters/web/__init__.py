"""The service on the web: pages, the clients' API, hooks of git hosts. Rules are in the core."""
