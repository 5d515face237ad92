"""The last rank fails, and leaves its process group before anybody can read its exception."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
try:
    for step in range(10_000):
        if step == 5 and dist.get_rank() == dist.get_world_size() - 1:
            raise ValueError("no more data")
        dist.all_reduce(torch.ones(1000))
finally:
    dist.destroy_process_group()
