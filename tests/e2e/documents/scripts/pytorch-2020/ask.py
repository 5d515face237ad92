"""Ask a downloaded model about the pictures that it was not trained with."""

import torch
from pytorch_train import download_data, load_data

from azureml.core import Run

loaders, sizes, _ = load_data(download_data())
model = torch.load("model/model.pt").eval()
with torch.no_grad():
    right = sum((model(inputs).argmax(1) == labels).sum().item() for inputs, labels in loaders["val"])
Run.get_context().log("accuracy", right / sizes["val"])
