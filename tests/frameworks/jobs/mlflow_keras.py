import keras
import mlflow
import numpy as np

mlflow.autolog(log_models=False)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 2)), np.ones((8, 1)), epochs=2, verbose=0)
mlflow.log_metric("by hand", 5)
