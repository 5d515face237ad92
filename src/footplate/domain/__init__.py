"""PURE. What is asked (specs), what happened (records), what follows (lifecycle, queue, launch).

Nothing here opens a file, a socket or a clock: time and ids come in as arguments. Standard library only, Python ≥ 3.8,
because a training script may import it through the SDK.
"""
