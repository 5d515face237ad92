"""The engine of Ray clusters.

engine    agents as jobs of Ray
api       requests to the head of the cluster; covered by `tests/unit/engines/ray/test_engine.py`
waiting   why a run waits, in plain words
program   the text that runs in the cluster; covered by `tests/conformance/test_ray_engine.py`
"""
