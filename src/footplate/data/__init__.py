"""How bytes move: stores of all kinds, transfers that can be cut off, a cache, mounts.

    open_store(StoreSpec) → Store          list · children · stat · read · stream · put · delete   (stores, base)
    find(store, "images/**/*.png")         the files that a path of a user means                   (stores)
    upload(files, store), download(items, {"": store}, folder)                                     (transfer)
    write_listing(items, path) → Summary, Listing(path)      a folder as one file, its own index   (content.listing)
    Cache(folder, limit)                   remote files by content, least recently used out first  (cache)
    mount(…) → Mount                       a listing, or a folder of a store, as a folder here     (mount)

Runs on the machine of a client, a node or the server, on Python ≥ 3.10. Folders of this machine and HTTP(S) need the
standard library alone; object stores and FUSE need the extra `data`, which is loaded when one is opened.
"""

from footplate.data.base import Children, Progress, Report, Store
from footplate.data.stores import find, open_store
from footplate.data.transfer import Overwrite, Uploaded, download, local_files, upload

__all__ = [
    "Children",
    "Overwrite",
    "Progress",
    "Report",
    "Store",
    "Uploaded",
    "download",
    "find",
    "local_files",
    "open_store",
    "upload",
]
