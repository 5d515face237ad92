"""Train on digits with several processes: PyTorch 1.6 with Horovod."""

import horovod.torch as hvd
import torch
import torch.nn.functional as F
import torch.optim as optim
from mnist import mnist
from net import Net

from azureml.core import Run

EPOCHS, BATCH_SIZE, LEARNING_RATE = 4, 32, 0.01

hvd.init()
torch.manual_seed(hvd.rank())  # each process starts elsewhere: the broadcast makes them equal
torch.set_num_threads(1)
train_dataset, test_dataset = mnist(train=True), mnist(train=False)
train_sampler = torch.utils.data.distributed.DistributedSampler(train_dataset, num_replicas=hvd.size(), rank=hvd.rank())
train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=BATCH_SIZE, sampler=train_sampler)
test_sampler = torch.utils.data.distributed.DistributedSampler(test_dataset, num_replicas=hvd.size(), rank=hvd.rank())
test_loader = torch.utils.data.DataLoader(test_dataset, batch_size=100, sampler=test_sampler)

model = Net()
optimizer = optim.SGD(model.parameters(), lr=LEARNING_RATE * hvd.size(), momentum=0.5)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
run = Run.get_context()


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


for epoch in range(EPOCHS):
    model.train()
    train_sampler.set_epoch(epoch)
    total = 0.0
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            correct += (model(data).argmax(1) == target).sum().item()
    loss = metric_average(total / len(train_loader), "avg_loss")
    accuracy = metric_average(correct / len(test_sampler), "avg_accuracy")
    if hvd.rank() == 0:
        run.log("loss", loss)
        run.log("accuracy", accuracy)

weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
everywhere = hvd.allgather(weights.unsqueeze(0))
if hvd.rank() == 0:
    run.log("processes", hvd.size())
    run.log("difference", (everywhere - everywhere[0]).abs().max().item())
