"""Time `SummaryWriter.add_scalar`. Arguments: batches, calls per batch, folder of events, path of the results."""

import json
import os
import struct
import sys
import time

from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event


def count_scalars(folder):
    """Count the scalars in the event files, record by record: length, checksum, event, checksum."""
    found = 0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            while head := file.read(12):
                event = Event.FromString(file.read(struct.unpack("<Q", head[:8])[0]))
                found += sum(value.tag == "loss" for value in event.summary.value)
                file.read(4)
    return found


def main():
    batches, size, folder, target = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    writer = SummaryWriter(folder)
    writer.add_scalar("warm", 1.0)
    figures = []
    for _ in range(batches):
        begin = time.perf_counter_ns()
        for step in range(size):
            writer.add_scalar("loss", 0.5, step)
        figures.append((time.perf_counter_ns() - begin) / size)
    writer.close()
    with open(target, "w") as file:
        json.dump({"plain": figures, "kept": count_scalars(folder)}, file)


main()
