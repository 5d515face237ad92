"""Web services: models behind HTTP.

    gateway/    the process that answers HTTP for all services of a home
    protocol    frames between gateway and worker
    worker/     the process that holds a model, in the user's interpreter: standard library and Python 3.8 only
    standalone  one worker and a gateway without a server, as a package of models runs them

The gateway owns sockets, keys, limits and batching; a worker only answers batches over a Unix socket.
"""
