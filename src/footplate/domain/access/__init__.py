"""Who may use a team server.

people   people, their roles and tokens, and the audit log
"""
