"""The script that runs. It does not know Footplate: any script will do."""

import os
import sys

print(f"hello from run {os.environ['AZUREML_RUN_ID']}")
print(f"Python {sys.version.split()[0]} in {os.getcwd()}, with arguments {sys.argv[1:]}")

# Files in ./outputs are stored with the run when the script ends.
with open("outputs/greeting.txt", "w") as file:
    file.write("hello\n")
