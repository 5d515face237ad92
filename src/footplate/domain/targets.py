"""The names of the compute targets that always exist. A module of its own: the SDK loads it at start-up."""

LOCAL = "local"
"""The server's own machine: the default compute target, and the engine that starts its agents there."""

SERVICES = "local:services"
"""The server's own machine for replicas of web services, which run until they are stopped and wait in no queue."""
