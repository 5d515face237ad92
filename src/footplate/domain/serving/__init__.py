"""Web services, pure.

endpoints   a service as a client describes it, as the server keeps it, and as people see it
rollouts    decides which versions take requests
pickles     what to do about objects that another NumPy has pickled
shares      percentages of the requests: split them, fill them up, restore them
replicas    the controller `service`: one child run for each replica of a version
"""
