"""Web services: deploy, update, split and delete them.

endpoint_service   the verbs
keeper             the thread that looks at every service and carries out what `domain.serving.rollouts` decides
gateway_process    starts the gateway, writes its routes, reads its status
certificates       certificates and keys of services that speak TLS
ports              ports of services that have one of their own
version_runs       a version as a group of runs
version_files      models and configuration of a version on this machine
"""
