"""A linear model under Horovod for PyTorch, or by one process alone (a world of one)."""

import json

import horovod.torch as hvd
import torch

hvd.init()
rank, size = hvd.rank(), hvd.size()
torch.manual_seed(0)
inputs = torch.randn(64, 8, dtype=torch.float64)
wanted = inputs @ torch.arange(8, dtype=torch.float64).unsqueeze(1)
mine = slice(rank * 64 // size, (rank + 1) * 64 // size)
model = torch.nn.Linear(8, 1, dtype=torch.float64)
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.05), named_parameters=model.named_parameters()
)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for _ in range(50):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(inputs[mine]), wanted[mine]).backward()
    optimizer.step()
with open(f"outputs/weights_{rank}.json", "w") as file:
    json.dump([value for parameter in model.parameters() for value in parameter.flatten().tolist()], file)
