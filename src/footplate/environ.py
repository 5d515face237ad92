"""Every environment variable of Footplate: the name as a constant, and who sets it for whom.

Standard library only and without imports: jobs and the SDK load it. `node/ranks/rank_environment` composes the
environment of a rank from these. `job/script_runner` and `job/exit_report` run before anything can be imported and
spell out the two names that they read; a test compares them with this module.
"""

# ── Set by people ──

HOME = "FOOTPLATE_HOME"  # the home directory; also in every process of a server, and in ranks on its machine
ENDPOINT = "FOOTPLATE_ENDPOINT"  # the server: unix:///… or http://…; in ranks the server of the run
TOKEN = "FOOTPLATE_TOKEN"  # the token for a server on TCP; in ranks the token of the run
IDLE_SECONDS = "FOOTPLATE_IDLE_SECONDS"  # after how long an unused server on demand ends; 0: never
DEBUG = "FOOTPLATE_DEBUG"  # the CLI prints tracebacks
STORE_FIELD = "FOOTPLATE_STORE_"  # + FIELD: a field of a datastore's credentials, read by the CLI
IMAGES = "FOOTPLATE_IMAGES"  # how the CLI shows images: kitty, iterm2 or none, instead of what the terminal says
COMPLETE = "_FOOTPLATE_COMPLETE"  # set by the shell while it completes a command line
GRACE_SECONDS = "FOOTPLATE_GRACE_SECONDS"  # between the request to stop and the kill of ranks; for a run or a node
KEEP_WORK = "FOOTPLATE_KEEP_WORK"  # "1": a node keeps the directory of a run that has ended
TENSORFLOW1 = "FOOTPLATE_TENSORFLOW1"  # "0": TensorFlow 2 in place of version 1 keeps its own interface
OPEN_DATASETS = "FOOTPLATE_OPEN_DATASETS"  # address of a mirror of Azure's open datasets
NODE_HOME = "FOOTPLATE_NODE_HOME"  # root directory of agents on a machine that does not share the server's home
PASS_ENVIRONMENT = "FOOTPLATE_PASS_ENVIRONMENT"  # names of further variables for jobs and builds; a server sets its own

# ── Set by Footplate, for ranks ──

RUN_ID = "FOOTPLATE_RUN_ID"
NODE = "FOOTPLATE_NODE"  # index of the node
RANK = "FOOTPLATE_RANK"
ATTEMPT = "FOOTPLATE_ATTEMPT"
JOURNALS = "FOOTPLATE_JOURNALS"  # directory for metrics: <run id>/<writer>.slots
EXITS = "FOOTPLATE_EXITS"  # directory in which ranks record how they ended: rank_<n>.json
GPUS = "FOOTPLATE_GPUS"  # indices of the rank's own GPUs
DATA_WORKER = "FOOTPLATE_DATA_WORKER"  # argv, as JSON, of a Python that can move data
CHECKPOINTS = "FOOTPLATE_CHECKPOINTS"  # directory that is saved while the ranks run and restored for the next attempt
CACHE = "FOOTPLATE_CACHE"  # directory that keeps fetched data on this machine
RANK_SCRIPT = "FOOTPLATE_RANK_SCRIPT"  # program that mpirun starts for each rank

# ── Set by Footplate, for its own processes ──

SHARED = "FOOTPLATE_SHARED"  # directory for environments and snapshots that the nodes of a target share
CA = "FOOTPLATE_CA"  # certificates that a node trusts for the server, besides the system's: PEM, in base64
BUNDLE = "FOOTPLATE_BUNDLE"  # digest of the agent bundle, on a machine that fetches it from the server
DESCRIBE = "FOOTPLATE_DESCRIBE"  # "1": an agent on another machine tells the server what can be installed there
RAY_JOB = "FOOTPLATE_RAY_JOB"  # description of a Ray job, for the program that the job runs
AGENT = "FOOTPLATE_AGENT"  # run/node in agents and what they start for themselves, "server" in servers; never in ranks

# ── Set by developers ──

TEST_ENGINE = "FOOTPLATE_TEST_ENGINE"  # the container engine that tests use
TEST_CACHE = "FOOTPLATE_TEST_CACHE"  # directory for environments that tests share

PREFIX = "FOOTPLATE_"
AZURE_PREFIXES = ("AZUREML_", "AZ_BATCHAI_")
_JOB_PREFIXES = ("FOOTPLATE_RUN_", *AZURE_PREFIXES)
_JOB_NAMES = (ENDPOINT, NODE, RANK, JOURNALS, EXITS, TOKEN, CHECKPOINTS)


def belongs_to_job(name: str) -> bool:
    """Whether a variable describes one job: servers and agents that a job starts must not inherit it."""
    return name.startswith(_JOB_PREFIXES) or name in _JOB_NAMES
