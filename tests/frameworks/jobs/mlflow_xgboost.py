import mlflow
import numpy as np
import xgboost

mlflow.autolog(log_models=False)
data = xgboost.DMatrix(np.arange(20.0).reshape(10, 2), label=np.arange(10) % 2)
xgboost.train({"objective": "binary:logistic"}, data, 3, evals=[(data, "train")])
mlflow.log_metric("by hand", 5)
