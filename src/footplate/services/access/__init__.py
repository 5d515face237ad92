"""Credentials that the server gives out.

sessions   sessions of browsers, for the page
tokens     tokens of runs
"""
