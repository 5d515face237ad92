"""`footplate azureml`: what becomes of code that was written for Azure ML SDK v1.

commands        the commands `check` and `coverage`
code_files      scripts, and notebooks as one program with the place of each line
names           what an Azure name means here: modules, classes, members and parameters of our own modules
checker         walks through a program and reports each use of an Azure name
usage           how often public code uses each name; usage.tsv holds the counts
"""
