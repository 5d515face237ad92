"""Stores of files, one module per kind.

base            the protocol `FileStore`, and helpers that all stores share
registry        kind → store, imported on first use; lookup of a user's path
folder          a folder of this machine; a mounted Azure file share; `beneath` keeps paths inside it
http            web servers, read-only, over `web_client` (connections, proxies, redirects)
server          a built-in datastore of a server on another machine, through the server's API
objects         Azure Blob, ADLS Gen2, S3, GCS through obstore; `object_errors` translates their errors
"""
