"""The script that runs. It knows nothing of Footplate: any script will do."""

import os
import sys

print(f"hello from run {os.environ['AZUREML_RUN_ID']}")
print(f"Python {sys.version.split()[0]} in {os.getcwd()}, with arguments {sys.argv[1:]}")

# What is in ./outputs when the script ends belongs to the run.
with open("outputs/greeting.txt", "w") as file:
    file.write("hello\n")
