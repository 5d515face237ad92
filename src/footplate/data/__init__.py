"""How bytes move: stores of all kinds, transfers that can be cut off, a cache, mounts.

    open_store(StoreSpec) → Store          list · children · stat · read · stream · put · delete   (stores, base)
    find(store, "images/**/*.png")         the files that a path of a user means                   (stores)
    upload(files, store), download(items, {"": store}, folder)                                     (transfer)
    write_listing(items, path) → Summary, Listing(path)      a folder as one file, its own index   (content.listing)
    DataCache(folder, limit)               remote files by content, least recently used out first  (cache)
    mount_listing(…), mount_folder(…) → Mount, closed however its owner ends                       (mount, keeper)
    OutputUploader(…)                      what a run writes, sent while it goes on               (outputs)

Runs on the machine of a client, a node or the server, on Python ≥ 3.10. Folders of this machine and HTTP(S) need the
standard library alone; object stores and FUSE need the extra `data`, which is loaded when one is opened. The names
below are loaded when they are first used, because the keeper of a mount must start fast.
"""

from footplate.lazy import lazy_names

_HOMES = {
    "footplate.content.listing": ("Listing", "ListingSummary", "write_listing"),
    "footplate.data.stores.base": ("Children", "FileStore", "Progress", "Report"),
    "footplate.data.cache": ("DataCache", "Usage"),
    "footplate.data.mounts.mount": ("Mount", "adopt", "mount_folder", "mount_listing", "sweep"),
    "footplate.data.outputs": ("OutputUploader",),
    "footplate.data.stores.registry": ("find", "open_store"),
    "footplate.data.transfer.batch": ("Overwrite", "Uploaded", "download", "local_files", "upload"),
}
_NAMES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_NAMES)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
