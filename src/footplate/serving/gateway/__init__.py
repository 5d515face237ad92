"""The gateway: one process that answers HTTP for all services of a home, and hands requests to their workers.

    __main__         the process: its lock, its port, the file of routes (`domain.serving.routes`), its status
    http             HTTP/1.1 on the front side
    memory           bounds what bodies and unread answers take, of all services together
    application      from a request to a service: paths, keys, CORS, swagger, health
    dispatch         queues, batches, weights, retries
    second_opinion   whether a new version or a request is to blame for a failure
    worker_link      the connection to one worker
    tunnels          connections that workers on other machines have opened
    authentication   keys and tokens
    collection       samples of requests and responses, and rows of ModelDataCollector on other machines
    metrics          Prometheus' text, and percentiles for the server

It survives a restart of the server: routes are pushed to it as a file, and it keeps answering from the last one.
"""
