"""Transfers, each of which can be interrupted and resumed.

batch           upload and download of many files in parallel
fetch           download of one file, verified; large ones by blocks over `partial`
partial         a file being fetched by blocks, by any number of processes
multipart       upload of one large file in parts to S3 and Azure Blob, over `signing`
"""
