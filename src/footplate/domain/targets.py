"""The name of the compute target that always exists. A module of its own: the SDK loads it at start-up."""

LOCAL = "local"
"""The server's own machine: the default compute target, and the engine that starts its agents there."""
