from __future__ import annotations

from dataclasses import replace
from typing import Any

from footplate.domain.orders import Lock, NodeOrders, Program, RankPlan
from footplate.environments.base import Interpreter
from footplate.node import rendezvous
from footplate.node.ranks.rank_environment import RankEnvironment, rank_argv, rank_variables

PLAN = RankPlan(3, 1, 0, "user_logs/std_log_process_03.txt", {"RANK": "3", "CLASH": "rank"})


def orders(program: Program, **variables: str) -> NodeOrders:
    lock = Lock("", "existing", {})
    return NodeOrders("run_1", 0, 1, True, False, program, lock, None, variables, (PLAN,))


def setting(**inherited: str) -> RankEnvironment:
    interpreter = Interpreter(("/env/bin/python",), {"VIRTUAL_ENV": "/env", "CLASH": "environment"})
    ours = {"FOOTPLATE_ENDPOINT": "unix:///s", "CLASH": "us"}
    return RankEnvironment(interpreter, "/runtime", "/env/bin", inherited, ours, {"FOOTPLATE_RUN_ID": "run_1"})


def test_a_script_runs_through_the_bootstrap_with_its_arguments() -> None:
    argv = rank_argv(Program("train.py", ("--x", "$HOME", "a b")), setting())
    assert argv == ["/env/bin/python", "/runtime/footplate/job/bootstrap.py", "train.py", "--x", "$HOME", "a b"]


def test_a_command_runs_through_the_shell() -> None:
    shell, flag, text = rank_argv(Program(command="a && b"), setting())
    assert (shell, flag) == ("/bin/sh", "-c") and text.endswith("EXIT\na && b")


def test_later_parts_of_the_environment_win() -> None:
    inherited = {
        "PATH": "/bin",
        "PYTHONPATH": "/machine",
        "FOOTPLATE_AGENT": "x",
        "AZUREML_OLD": "x",
        "TZ": "UTC",
        "MPLBACKEND": "agg",
    }
    seen = rank_variables(orders(Program("t.py"), USER="me", CLASH="user"), PLAN, setting(**inherited))
    assert seen == {
        "PATH": "/env/bin:/bin",
        "PYTHONPATH": "/runtime",
        "TZ": "UTC",
        "USER": "me",
        "CLASH": "rank",
        "RANK": "3",
        "VIRTUAL_ENV": "/env",
        "PYTHONUNBUFFERED": "1",
        "FOOTPLATE_ENDPOINT": "unix:///s",
        "FOOTPLATE_RUN_ID": "run_1",
        "FOOTPLATE_RANK": "3",
    }


def test_other_nodes_bypass_the_proxy() -> None:
    declared = orders(Program("t.py"), HTTPS_PROXY="http://proxy:3128", NO_PROXY="localhost, 127.0.0.3")
    together = replace(declared, peers=("127.0.0.2", "127.0.0.3", "127.0.0.2"))
    seen = rank_variables(together, PLAN, setting(HTTP_PROXY="http://of-the-starter"))
    assert "HTTP_PROXY" not in seen
    assert seen["no_proxy"] == seen["NO_PROXY"] == "localhost,127.0.0.3,127.0.0.2"
    own = replace(together, variables={"http_proxy": "http://mine", "no_proxy": ""})
    assert rank_variables(own, PLAN, setting())["no_proxy"] == "127.0.0.2,127.0.0.3"
    assert "no_proxy" not in rank_variables(replace(together, variables={}), PLAN, setting())
    assert "no_proxy" not in rank_variables(replace(together, peers=()), PLAN, setting())


def test_user_settings_override_the_machine() -> None:
    own = orders(Program("t.py"), PYTHONPATH="/mine", PATH="/my/bin", PYTHONUNBUFFERED="")
    seen = rank_variables(own, PLAN, setting(PYTHONPATH="/machine", PATH="/bin"))
    assert (seen["PYTHONPATH"], seen["PATH"], seen["PYTHONUNBUFFERED"]) == ("/runtime:/mine", "/env/bin:/my/bin", "")


def test_libraries_listen_where_the_other_nodes_reach_this_one() -> None:
    wanted = replace(orders(Program("t.py")), peers=("127.0.0.1", "192.0.2.1"))
    found = rendezvous.network_defaults(wanted)
    assert found == {"GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo"}
    assert rendezvous.network_defaults(replace(wanted, node=1)) == {}
    assert rendezvous.network_defaults(replace(wanted, peers=())) == {}
    chosen = replace(setting(PATH="/bin"), defaults=found)
    assert rank_variables(wanted, PLAN, chosen)["GLOO_SOCKET_IFNAME"] == "lo"
    wanted = replace(wanted, variables={"GLOO_SOCKET_IFNAME": "ib0"})
    assert rank_variables(wanted, PLAN, chosen)["GLOO_SOCKET_IFNAME"] == "ib0"


WORKSPACE = {
    "AZUREML_ARM_SUBSCRIPTION": "local", "AZUREML_ARM_RESOURCEGROUP": "local", "AZUREML_ARM_WORKSPACE_NAME": "lab",
    "AZUREML_SERVICE_ENDPOINT": "http://train:8800", "AZUREML_RUN_ID": "run_1", "AZUREML_EXPERIMENT_ID": "e1",
    "AZUREML_ARM_PROJECT_NAME": "digits",
}  # fmt: skip


def mlflow_variables(given: dict[str, str], content: dict[str, Any], **inherited: str) -> dict[str, str]:
    ordered = replace(orders(Program("t.py"), **WORKSPACE, **given), lock=Lock("", "venv", content))
    seen = rank_variables(ordered, PLAN, setting(**inherited))
    return {name: value for name, value in seen.items() if name.startswith("MLFLOW_")}


def test_mlflow_logs_to_the_run() -> None:
    address = "azureml://train:8800/mlflow/v1.0/subscriptions/local/resourceGroups/local"
    address += "/providers/Microsoft.MachineLearningServices/workspaces/lab"
    assert mlflow_variables({}, {}) == {"MLFLOW_TRACKING_URI": address}
    assert mlflow_variables({}, {"azureml": {"azureml-mlflow": "1.62.0"}}) == {
        "MLFLOW_TRACKING_URI": address,
        "MLFLOW_RUN_ID": "run_1",
        "MLFLOW_EXPERIMENT_ID": "e1",
        "MLFLOW_EXPERIMENT_NAME": "digits",
    }


def test_another_server_for_mlflow_can_be_chosen() -> None:
    content, own = {"azureml": {"azureml-mlflow": "1.62.0"}}, {"MLFLOW_TRACKING_URI": "http://mlflow"}
    assert mlflow_variables(own, content) == own
    passed = {**own, "FOOTPLATE_PASS_ENVIRONMENT": "MLFLOW_TRACKING_URI"}
    assert mlflow_variables({}, content, **passed) == own
