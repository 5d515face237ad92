"""Train a classifier of points with one of several frameworks, and save it as the framework does."""

import json
import sys
from typing import Any

import numpy as np

rng = np.random.default_rng(1)
labels = np.arange(400) % 2
points = (rng.normal(size=(400, 2)) + 3 * labels[:, None]).astype("float32")
SAMPLE = np.array([[0, 0], [3, 3], [-1, 1]], dtype="float32")


def scikit_learn():
    import joblib
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(points, labels)
    joblib.dump(model, "outputs/model.pkl")
    return model.predict_proba(SAMPLE)[:, 1]


def onnx():
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(points, labels)
    made: Any = to_onnx(model, points[:1], options={"zipmap": False})
    with open("outputs/model.onnx", "wb") as file:
        file.write(made.SerializeToString())
    return model.predict_proba(SAMPLE)[:, 1]


def pytorch():
    import torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1), torch.nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.from_numpy(points), torch.from_numpy(labels).float()[:, None]
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy(model(x), y).backward()
        optimizer.step()
    any_number_of_rows = ({0: torch.export.Dim("rows")},)
    torch.export.save(torch.export.export(model.eval(), (x,), dynamic_shapes=any_number_of_rows), "outputs/model.pt2")
    torch.jit.script(model).save("outputs/model.pt")  # the older form
    return model(torch.from_numpy(SAMPLE)).detach().numpy()


def tensorflow():
    import tensorflow as tf

    layers = [tf.keras.Input((2,)), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(1, "sigmoid")]
    model = tf.keras.Sequential(layers)
    model.compile(tf.keras.optimizers.Adam(0.05), "binary_crossentropy")
    model.fit(points, labels, epochs=5, verbose=0)
    model.export("outputs/model")  # a SavedModel
    model.save("outputs/model.keras")
    return model(SAMPLE).numpy()


def xgboost():
    import xgboost

    data = xgboost.DMatrix(points, labels)
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 3}, data, num_boost_round=20)
    model.save_model("outputs/model.ubj")
    return model.predict(xgboost.DMatrix(SAMPLE))


def lightgbm():
    import lightgbm

    model = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(points, labels), 20)
    model.save_model("outputs/model.lgb")
    return model.predict(SAMPLE)


chosen = {f.__name__: f for f in (scikit_learn, onnx, pytorch, tensorflow, xgboost, lightgbm)}[sys.argv[1]]
expected = np.asarray(chosen(), dtype=float).reshape(-1).tolist()
with open("outputs/sample.json", "w") as file:
    json.dump({"data": SAMPLE.tolist(), "probabilities": expected}, file)
print("probabilities of class 1:", [round(value, 2) for value in expected])
