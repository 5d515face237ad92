"""Who may use the server: people, their credentials, and the credentials that the server gives out.

audit           the log of what people did
identities      a person with what one of its credentials allows
ownership       whose runs and services are
people          people, service accounts and their roles
person_tokens   tokens of people and service accounts
recent          answers that were found a moment ago
server_key      the switch of the server's own token
sessions        sessions of browsers, for the page
tokens          tokens of runs
"""
