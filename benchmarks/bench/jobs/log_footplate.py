"""Time `run.log` inside a run and write the results to ./outputs. Arguments: batches, calls per batch."""

import json
import sys
import time

from footplate import Run


def time_plain(run, batches, size):
    figures = []
    for _ in range(batches):
        begin = time.perf_counter_ns()
        for _ in range(size):
            run.log("loss", 0.5)
        figures.append((time.perf_counter_ns() - begin) / size)
    return figures


def time_with_step(run, batches, size):
    figures = []
    for _ in range(batches):
        begin = time.perf_counter_ns()
        for step in range(size):
            run.log("accuracy", 0.25, step=step)
        figures.append((time.perf_counter_ns() - begin) / size)
    return figures


def main():
    batches, size = int(sys.argv[1]), int(sys.argv[2])
    run = Run.get_context()
    run.log("warm", 1.0)
    figures = {"plain": time_plain(run, batches, size), "with_step": time_with_step(run, batches, size)}
    with open("outputs/figures.json", "w") as file:
        json.dump(figures, file)


main()
