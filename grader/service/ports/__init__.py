"""What the service's rules need of the world: a store, a clock, somebody who grades."""
