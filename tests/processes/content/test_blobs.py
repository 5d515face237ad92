from __future__ import annotations


def test_a_full_disk_leaves_nothing(with_little_space, tmp_path):
    (tmp_path / "big").write_bytes(b"x" * 10_000)
    (tmp_path / "small").write_bytes(b"y" * 100)
    said = with_little_space(
        """
        import os
        from footplate.content.blobs import BlobFolder
        from footplate.errors import OutOfSpace
        blobs = BlobFolder("blobs")
        for put in (
            lambda: blobs.put_file("big"),
            lambda: blobs.put_files([("small", None), ("big", None)]),
            lambda: blobs.put_bytes(b"z" * 10000),
        ):
            try:
                put()
            except OutOfSpace as error:
                print(error.hint)
        digest, _ = blobs.adopt("big")  # needs no space
        try:
            blobs.copy_to(digest, "copy")
        except OutOfSpace as error:
            print(error.hint)
        print(sum(len(names) for _, _, names in os.walk("blobs")), os.path.exists("copy"))
        """
    )
    assert said.splitlines() == ["free some disk space and try again"] * 4 + ["1 False"]
