"""People, their roles, tokens and sessions, and the log of what they did.

access_tokens   tokens of people
audit           the audit log
people          people, roles, and switches of the server
sessions        sessions of browsers
"""
