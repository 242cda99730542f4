"""How the service's rules meet the world: the course database, the judge, the web."""
