"""The peers: how each is started, used and stopped."""
