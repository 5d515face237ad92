"""Requests and responses of scoring scripts that use `@rawhttp`."""
