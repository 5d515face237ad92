import mlflow
import mlflow.sklearn
from sklearn.linear_model import LogisticRegression

mlflow.autolog(log_models=False)
model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
mlflow.log_metric("by hand", 5)
saved = mlflow.sklearn.log_model(model, name="model", pip_requirements=[])
assert (mlflow.sklearn.load_model(saved.model_uri).predict([[0.0], [1.0]]) == [0, 1]).all()
