"""Train on digits with several processes: DistributedDataParallel of PyTorch 1.6."""

import argparse
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch.optim as optim
from mnist import mnist
from net import Net

from azureml.core import Run

EPOCHS, BATCH_SIZE = 4, 32

parser = argparse.ArgumentParser(description="PyTorch MNIST Example")
parser.add_argument("--dist-backend", type=str, help="distributed backend")
parser.add_argument("--dist-url", type=str, help="url used to set up distributed training")
parser.add_argument("--rank", type=int, help="rank of the worker")
parser.add_argument("--world-size", type=int, help="number of distributed processes")
args = parser.parse_args()

dist.init_process_group(
    backend=args.dist_backend, init_method=args.dist_url, rank=args.rank, world_size=args.world_size
)
torch.manual_seed(args.rank)
torch.set_num_threads(1)
train_dataset, test_dataset = mnist(train=True), mnist(train=False)
train_sampler = torch.utils.data.distributed.DistributedSampler(train_dataset)
train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=BATCH_SIZE, sampler=train_sampler)
test_loader = torch.utils.data.DataLoader(test_dataset, batch_size=100)
device = torch.device("cuda" if args.dist_backend == "nccl" else "cpu")
model = torch.nn.parallel.DistributedDataParallel(Net().to(device))
optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
run = Run.get_context()

for epoch in range(EPOCHS):
    model.train()
    train_sampler.set_epoch(epoch)
    total = torch.zeros(1, device=device)
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data.to(device)), target.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            correct += (model(data.to(device)).argmax(1) == target.to(device)).sum().item()
    if args.rank == 0:
        run.log("loss", total.item() / len(train_loader) / args.world_size)
        run.log("accuracy", correct / len(test_dataset))

weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
everywhere = [torch.empty_like(weights) for _ in range(args.world_size)]
dist.all_gather(everywhere, weights)
if args.rank == 0:
    run.log("processes", dist.get_world_size())
    run.log("difference", max((one - weights).abs().max().item() for one in everywhere))
dist.destroy_process_group()
time.sleep(0.2)  # gloo may abort at exit without it
