"""Estimators: the older way to say what a ScriptRunConfig says. They become one, and nothing below knows them."""
