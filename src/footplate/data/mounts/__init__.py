"""Data as a folder of this machine.

mount           mounts and their records; adoption and sweeping of those whose owner died
supervisor      the process that unmounts once the owner is gone; its child does the work of `serving`
fuse            the FUSE file system, and the tree of its contents; `cached_files` has its bytes
views           folders of hard links to the cache, which later runs use without FUSE
syscalls        mount(2), umount(2), overlayfs
"""
