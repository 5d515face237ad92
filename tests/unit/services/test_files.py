from __future__ import annotations

from .conftest import House


def test_the_log_of_the_active_build_is_followed_until_a_script_logs(house: House) -> None:
    logs, files = house.store.logs, house.services.files
    house.submit("r1")
    assert files.primary_log("r1") is None
    logs.append("r1", "azureml-logs/20_image_build_log.txt", 0, b"waiting\n")
    assert files.primary_log("r1") == "azureml-logs/20_image_build_log.txt"
    logs.append("r1", "azureml-logs/20_image_build_log_1.txt", 0, b"building\nstill building\n")
    assert files.primary_log("r1") == "azureml-logs/20_image_build_log_1.txt"
    for name in ("user_logs/std_log_process_01.txt", "user_logs/std_log_process_00.txt"):
        logs.append("r1", name, 0, b"hello\n")
    assert files.primary_log("r1") == "user_logs/std_log_process_00.txt"
