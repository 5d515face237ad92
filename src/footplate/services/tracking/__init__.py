"""What clients of other trackers log and search.

tracking_service  experiments and runs, points, parameters, tags, inputs, searches and histories
"""
