"""The HTTP server: listeners, authorization, long polls, and the endpoints over `services`.

__main__      the process from its first instruction: detach, then `process`
process       one server per home: lock, listeners, idle time, end
app           the application of one listener, its errors, and `GET /server`
routes/       the endpoints, one module per noun
auth          credentials become principals: who sends a request
authorization  what a principal may do on the objects of a request
rights        the right that each route requires: who has it, and how far it reaches for a run
audit         entries of the audit log for requests
browser, page_files, page_listener   the page, and the rules for browsers
sign_in_limit  a limit on failed attempts to sign in
peers         the process at the other end of the Unix socket
connections   limits on connections, and deadlines for requests
gate          counts requests, and rejects them while the server stops
body_limit    limits the size of request bodies
hub           notifications for long polls
openapi       the OpenAPI document
responses     values and errors as JSON
tokens        the server's own token
logfile       the server's own log
verify        `footplate server verify`, beside or without a server
"""
