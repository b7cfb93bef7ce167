"""The description of the API: valid OpenAPI, every endpoint with its right; and no request breaks anything."""

import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error

from tests.effort import SOAK
from tests.studio.conftest import KEYS, SECRETS, Desk, serving
from trueup.contract.contract import Contract
from trueup.store.open import open_store
from trueup.store.records import Note, new_id
from trueup.studio.api.table import endpoints
from trueup.studio.app import Application
from trueup.studio.endpoint import Nothing
from trueup.studio.openapi import document
from trueup.studio.settings import StudioSettings
from trueup.verdict.codec import spelled

EXAMPLES = 300 if SOAK else 3
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
TABLE = tuple(endpoints())
ODD: list[Any] = [
    "", "\0", "\ud800", "../../x", "a" * 5000, "[", "1e999", "🙂\u202e", -1, 2**63 - 1, 10**30, 1e308, True, None, {}, [None],
]  # fmt: skip
MORE: list[Any] = [
    "x", "..", "/", "a/b", "%s", "'; --", "-1", "null", "NaN", "{", "*", "&", 0, 2**31, 2**53, 2**64, 0.5, -0.0, [], [[]], {"a": 1}, ["x"] * 200,
]  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A studio with a contract, a stored verdict and a file of replies."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "person.yaml").write_text("schema: {type: object, required: [name]}\n", "utf-8")
    (folder / "replies.jsonl").write_text('{"id": "1", "reply": "{}"}\n', "utf-8")
    contract = Contract.load(folder / "person.yaml")
    contract.name = "person"
    with open_store(folder / "v.db") as store:
        for text in ("{}", '{"name": "Ana"}'):
            store.note(
                Note(
                    new_id(),
                    contract.check(text),
                    "r",
                    1,
                    "acme",
                    "",
                    "m",
                    "person",
                    "",
                    "ok",
                    0,
                    0.1,
                    rules=contract,
                    fingerprint=contract.fingerprint,
                )
            )
    app = Application(StudioSettings(keys=KEYS, folders=(folder,), store=str(folder / "v.db")))
    with serving(app) as url:
        opened = Desk(app, url, "editor")
        yield opened
        opened.client.close()
    app.close()


def test_the_description_is_valid_and_complete(desk: Desk) -> None:
    served = desk.get("/openapi.json")
    assert served == document(TABLE)
    schemathesis.openapi.from_dict(served).validate()
    assert {(path, method) for path, each in served["paths"].items() for method in each} == {
        (f"/api{re.sub(r':[a-z]+}', '}', each.path)}", each.method.lower()) for each in TABLE
    }
    ids = [each["operationId"] for path in served["paths"].values() for each in path.values()]
    assert len(ids) == len(set(ids)) == len(TABLE)
    for path in served["paths"].values():
        for each in path.values():
            assert each["summary"].endswith("."), each
            assert each["x-right"] in ("read", "label", "edit")


def test_descriptions_of_fields_and_operations_match_the_source() -> None:
    described = document(TABLE)
    judge = described["paths"]["/api/judge"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert judge["properties"]["contract"]["description"] == "The text of a contract; empty: any JSON value."
    assert "description" not in judge["properties"]["state"]
    rows = {each["name"]: each for each in described["paths"]["/api/verdicts"]["get"]["parameters"]}
    assert rows["since"]["description"] == "A span such as `7d`, a date, or seconds since 1970.", (
        "of the class above it"
    )
    assert rows["cursor"]["description"].startswith("The end of the previous page")
    assert "subject" in described["components"]["schemas"]["Item"]["properties"]
    assert described["components"]["schemas"]["Item"]["properties"]["subject"]["description"].startswith("Its subject")
    assert described["components"]["schemas"]["Item"]["additionalProperties"] is False
    live = described["paths"]["/api/live"]["get"]["description"]
    assert live.startswith("Times are seconds since 1970")
    assert live.endswith("Needs the right to read.")


def test_evidence_is_described_and_answers_match_the_description(desk: Desk) -> None:
    described = document(TABLE)
    assert (
        described["components"]["schemas"]["EvidenceRow"]["properties"]["span"]["description"]
        == "The place of the value in the reply, in UTF-16 units."
    )
    asked = {
        "reply": '{"name": "Ana", "age": 41, "paid": true}',
        "contract": "schema: {type: object}\ngrounded: true",
        "source": "Ana is 40.",
    }
    [stored, *_] = desk.get("/verdicts")["rows"]
    answers = {
        "/api/judge": [desk.post("/judge", asked), desk.post("/judge", {"reply": "{}"}), desk.post("/judge", {"contract": "schema: ["})],
        "/api/verdicts/{id}": [desk.get(f"/verdicts/{stored['id']}")],
    }  # fmt: skip
    for path, some in answers.items():
        [operation] = described["paths"][path].values()
        [content] = operation["responses"]["200"]["content"].values()
        for answer in some:
            fitting = {**content["schema"], "components": described["components"]}
            assert list(Draft202012Validator(fitting).iter_errors(answer)) == []
            name = content["schema"]["$ref"].rpartition("/")[2]
            assert answer.keys() == described["components"]["schemas"][name]["properties"].keys(), (
                "nothing is left out of the description"
            )


def test_every_parameter_of_a_path_is_one_of_its_endpoint() -> None:
    for each in TABLE:
        assert set(re.findall(r"{(\w+)", each.path)) <= set(each.takes.__struct_fields__), each.path
        assert each.method not in ("GET", "DELETE") or each.most == 64 * 1024, "they have no body"


def play(operation: Any, desk: Desk) -> None:
    """Send requests that fit the description of a path, and requests that do not."""
    headers = {"authorization": f"Bearer {SECRETS['editor']}"}

    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=QUIET, phases=[Phase.generate], derandomize=True
    )
    @given(st.data())
    def send(data: st.DataObject) -> None:
        for mode in MODES if operation.body or operation.query else MODES[:1]:
            case = data.draw(operation.as_strategy(generation_mode=mode))
            response = case.call(base_url=desk.url, headers=headers, timeout=60)
            case.validate_response(response, checks=[not_a_server_error])
            assert '"internal"' not in response.text, response.text

    send()


def test_no_request_that_fits_the_description_breaks_the_studio(desk: Desk) -> None:
    for operation in schemathesis.openapi.from_dict(document(TABLE)).get_all_operations():
        play(operation.ok(), desk)


@pytest.mark.parametrize("endpoint", TABLE, ids=lambda each: f"{each.method} {each.path}")
def test_invalid_values_are_refused_with_a_message(desk: Desk, endpoint: Any) -> None:
    """Every field of every endpoint with every odd value, and valid values for the others."""
    fields = endpoint.takes.__struct_fields__ if endpoint.takes is not Nothing else ()
    usual = usual_values(desk, fields)
    for field in fields:
        for odd in [*ODD, *MORE] if SOAK else ODD:
            given = {**usual, field: odd}
            path = re.sub(r"{(\w+)[^}]*}", lambda match: "x", endpoint.path)
            if endpoint.method in ("GET", "DELETE"):
                asked = {
                    name: str(value).encode("utf-8", "replace") for name, value in given.items() if value is not None
                }
                answer = desk.client.request(endpoint.method, path, params=asked)
            else:
                sent = {"content": spelled(given), "headers": {"content-type": "application/json"}}
                answer = desk.client.request(endpoint.method, path, **sent)
            assert answer.status_code < 500, (field, odd, answer.text)
            assert '"internal"' not in answer.text, (field, odd, answer.text[:500])


def usual_values(desk: Desk, fields: tuple[str, ...]) -> dict[str, Any]:
    """Values that get further into a handler than empty ones."""
    folder: Path = desk.app.settings.folders[0]
    known = {
        "file": f"{folder.name}/person.yaml", "text": "schema: {type: object}", "contract": "schema: {type: object}",
        "reply": "{}", "name": "person", "kind": ".yaml", "hash": "0", "line": 1, "column": 1, "upto": 1, "code": "V005",
        "run": folder.name, "since": "1h",
    }  # fmt: skip
    return {name: known[name] for name in fields if name in known}
