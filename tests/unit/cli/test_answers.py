"""What an error of a flow becomes: fields, exit codes, one sentence."""

import json

from kafka_mirror.cli.answer import Answer
from kafka_mirror.errors import ClusterUnreachable, ConfigurationError, Problem
from tests.unit.cli.command_line import THREE_FLOWS, only_flow


def test_an_error_in_json_has_exactly_the_fields_of_the_contract(run, answer):
    def fail(_flow):
        raise ClusterUnreachable("east", "127.0.0.1:9001", 5, "Connection refused")

    answer(fail)
    code, output, _ = run("plan", "--json")
    assert code == 1
    (error,) = only_flow(output)["errors"]
    assert set(error) == {"code", "message", "topic", "partition", "offset", "retriable", "next", "remedies", "commands", "problems"}
    assert (error["code"], error["retriable"]) == ("ClusterUnreachable", True)


def test_a_configuration_that_fails_while_running_is_unusable(run, answer):
    def fail(flow):
        raise ConfigurationError([Problem("east.bootstrap.servers", "is missing")], flow=flow.name)

    answer(fail)
    assert run("plan")[0] == 2


def test_what_nobody_foresaw_is_an_answer_too_and_leaves_its_traces(run, answer, caplog):
    def fail(flow):
        if flow.target == "west":
            raise ZeroDivisionError("division by zero")
        return Answer("done")

    answer(fail)
    code, output, words = run("plan", "--json", config=THREE_FLOWS)
    flows = {flow["flow"]: flow for flow in json.loads(output)["flows"]}
    assert flows["east->west"]["errors"][0]["code"] == "Unexpected"
    assert "ZeroDivisionError: division by zero" in words
    assert flows["east->north"]["state"] == "done"
    assert "fail(flow)" not in output
    assert "Traceback" in caplog.text
    assert code == 2, "the third flow is invalid"


def test_an_interruption_ends_with_one_sentence(run, answer):
    def interrupt(_flow):
        raise KeyboardInterrupt

    answer(interrupt)
    code, output, words = run("plan")
    assert (code, output) == (130, "")
    assert words == "Interrupted. What was committed stays, and the next run goes on after it.\n"


def test_what_others_say_while_a_flow_is_worked_on_is_no_part_of_the_answer(run, answer):
    def work(_flow):
        print("Airflow logs to standard output")
        return Answer("done")

    answer(work)
    code, output, words = run("plan", "--json")
    assert (code, only_flow(output)["state"]) == (0, "done")
    assert "Airflow logs to standard output\n" in words
