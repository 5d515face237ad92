"""Web services, pure.

endpoints   a service as a client describes it, as the server keeps it, and as people see it
routes      files between the server and the gateway
worker_config  the file that a worker reads
frameworks  frameworks whose models are served without code
rollouts    decides which versions take requests
pickles     what to do about objects that another NumPy has pickled
shares      percentages of the requests: split them, fill them up, restore them
replicas    the controller `service`: one child run for each replica of a version
"""
