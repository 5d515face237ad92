"""The HTTP server: listeners, authorization, long polls, and the endpoints over `services`.

__main__      the process from its first instruction: detach, then `process`
process       one server per home: lock, listeners, idle time, end
app           the application of one listener, its errors, and `GET /server`
routes/       the endpoints, one module per noun
auth          principals: who sends a request, and what it may do
rights        the right that each route requires, and how far it reaches for a run
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
