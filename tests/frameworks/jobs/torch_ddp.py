"""A linear model on one batch, trained by all ranks together or by one process alone: the mathematics is the same."""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--dist-url", default="env://")
parser.add_argument("--rank", type=int, default=-1)
parser.add_argument("--world-size", type=int, default=-1)
arguments = parser.parse_args()

together = "MASTER_ADDR" in os.environ
if together:
    given = {} if arguments.rank < 0 else {"rank": arguments.rank, "world_size": arguments.world_size}
    dist.init_process_group("gloo", init_method=arguments.dist_url, **given)
rank, size = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)

torch.manual_seed(0)
inputs = torch.randn(64, 8, dtype=torch.float64)
wanted = inputs @ torch.arange(8, dtype=torch.float64).unsqueeze(1)
mine = slice(rank * 64 // size, (rank + 1) * 64 // size)
model = torch.nn.Linear(8, 1, dtype=torch.float64)
trained = DistributedDataParallel(model) if together else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(50):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(trained(inputs[mine]), wanted[mine]).backward()
    optimizer.step()

with open(f"outputs/weights_{rank}.json", "w") as file:
    json.dump([value for parameter in model.parameters() for value in parameter.flatten().tolist()], file)
if together:
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # gloo may abort a process that exits at once
