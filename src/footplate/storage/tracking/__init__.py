"""What trackers of experiments log beside metrics, and how they search for runs.

labels             parameters and tags of a run, many at once
search             runs by metrics, parameters, tags, attributes and datasets
tracked_runs       runs with everything that was logged to them, and their inputs
logged_models      models that belong to a run or an experiment
registered_models  names of models, with or without versions
"""
