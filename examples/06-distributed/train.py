import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from azureml.core import Run

dist.init_process_group("gloo")  # reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE
rank, size = dist.get_rank(), dist.get_world_size()
print(f"rank {rank} of {size} on node {os.environ['NODE_RANK']}, rendezvous at {os.environ['MASTER_ADDR']}")

torch.manual_seed(0)
inputs = torch.randn(256, 8)
wanted = inputs @ torch.arange(8.0).unsqueeze(1)
mine = slice(rank, None, size)  # every rank trains on its own part of the data

model = DistributedDataParallel(torch.nn.Linear(8, 1))  # all ranks get the same gradients
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
run = Run.get_context()
for _ in range(100):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs[mine]), wanted[mine])
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    if rank == 0:  # one rank logs for all
        run.log("loss", total.item() / size)

if rank == 0:
    torch.save(model.module.state_dict(), "outputs/model.pt")
dist.barrier()
dist.destroy_process_group()
time.sleep(0.2)  # gloo's threads may abort a process that exits at once
