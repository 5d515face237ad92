"""Stands in for `pytorch_mnist.py` of Azure's example: a process group by the arguments of the document."""

import argparse
import time

import torch
import torch.distributed as dist

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend")
parser.add_argument("--dist-url")
parser.add_argument("--rank", type=int)
parser.add_argument("--world-size", type=int)
args = parser.parse_args()
dist.init_process_group(args.dist_backend, init_method=args.dist_url, rank=args.rank, world_size=args.world_size)
total = torch.ones(1)
dist.all_reduce(total)
if args.rank == 0:
    Run.get_context().log_row("group", size=dist.get_world_size(), total=total.item())
dist.destroy_process_group()
time.sleep(0.2)  # gloo may abort at exit without it
