import lightning
import mlflow
import torch


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, _):
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-4)


mlflow.autolog(log_models=False)
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(Line(), torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 2))))
mlflow.log_metric("by hand", 5)
