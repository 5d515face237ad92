"""Commands about who may use a team server.

audit    the log of what people did
login    sign in, sign out, and who one is
people   people and service accounts
roles    roles of people and groups
tokens   tokens of people
"""
