"""Tell turkeys from chickens: ResNet-18, fine-tuned for a few epochs with PyTorch 1.6.

It downloads the pictures itself. Weights trained on ImageNet would be downloaded as well, from a site that is not here:
the network starts from random ones.
"""

import argparse
import copy
import os
import urllib.request
import zipfile

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torchvision import datasets, models, transforms

from azureml.core import Run

run = Run.get_context()
PARTS = ("train", "val")


def load_data(data_dir):
    usual = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    data_transforms = {
        "train": transforms.Compose([transforms.Resize(32), transforms.RandomHorizontalFlip(), *usual]),
        "val": transforms.Compose([transforms.Resize(32), *usual]),
    }
    found = {part: datasets.ImageFolder(os.path.join(data_dir, part), data_transforms[part]) for part in PARTS}
    loaders = {part: torch.utils.data.DataLoader(found[part], batch_size=20, shuffle=True) for part in PARTS}
    return loaders, {part: len(found[part]) for part in PARTS}, found["train"].classes


def train_model(model, criterion, optimizer, scheduler, num_epochs, data_dir):
    loaders, sizes, class_names = load_data(data_dir)
    best_model_wts, best_acc = copy.deepcopy(model.state_dict()), 0.0
    for epoch in range(num_epochs):
        for phase in PARTS:
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(outputs.argmax(1) == labels).item()
            epoch_acc = running_corrects / sizes[phase]
            print(f"epoch {epoch}: {phase} loss {running_loss / sizes[phase]:.4f} acc {epoch_acc:.4f}")
            if phase == "train":
                scheduler.step()
                run.log("loss", running_loss / sizes[phase])
            elif epoch_acc > best_acc:
                best_acc, best_model_wts = epoch_acc, copy.deepcopy(model.state_dict())
        run.log("best_val_acc", best_acc)
    model.load_state_dict(best_model_wts)
    return model, class_names


def download_data():
    urllib.request.urlretrieve("http://azuremlsamples.azureml.net/data/fowl_data.zip", "fowl_data.zip")
    with zipfile.ZipFile("fowl_data.zip") as file:
        file.extractall("data")
    return os.path.join("data", "fowl_data")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_epochs", type=int, default=25, help="number of epochs to train")
    parser.add_argument("--output_dir", type=str, help="output directory")
    parser.add_argument("--learning_rate", type=float, default=0.01, help="learning rate")
    parser.add_argument("--momentum", type=float, default=0.9, help="momentum")
    args = parser.parse_args()
    run.log("torch", torch.__version__)
    torch.manual_seed(0)
    model_ft = models.resnet18(pretrained=False)
    model_ft.fc = nn.Linear(model_ft.fc.in_features, 2)
    optimizer_ft = optim.SGD(model_ft.parameters(), lr=args.learning_rate, momentum=args.momentum)
    scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=7, gamma=0.1)
    criterion = nn.CrossEntropyLoss()
    model, class_names = train_model(model_ft, criterion, optimizer_ft, scheduler, args.num_epochs, download_data())
    run.log_list("classes", class_names)
    os.makedirs(args.output_dir, exist_ok=True)
    torch.save(model, os.path.join(args.output_dir, "model.pt"))


if __name__ == "__main__":
    main()
