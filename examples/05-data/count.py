import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--poems", required=True)
parser.add_argument("--counts", required=True)
given = parser.parse_args()

for name in os.listdir(given.poems):
    with open(os.path.join(given.poems, name)) as poem, open(os.path.join(given.counts, name), "w") as counted:
        counted.write(str(len(poem.read().split())))
