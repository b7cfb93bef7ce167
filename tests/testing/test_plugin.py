"""The pytest plugin as a user sees it: installed by its entry point, in a separate project."""

from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

CONTRACT = "name: people\nschema: {type: object, properties: {age: {type: integer}}, required: [age]}\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makefile(".yaml", people=CONTRACT, broken="shema: true\n")
    return pytester


def test_the_plugin_is_offered_by_its_entry_point() -> None:
    assert "trueup.testing.plugin" in {point.value for point in entry_points(group="pytest11")}


def test_a_mark_names_the_contract(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.trueup("people.yaml")
        def test_stored(trueup_contract, assert_ok):
            assert trueup_contract.name == "people"
            verdict = assert_ok('{"age": "36"}')
            assert verdict.data == {"age": 36}
        """
    )
    project.runpytest("--strict-markers").assert_outcomes(passed=1)


def test_the_ini_file_names_the_contract(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ntrueup_contract = people.yaml\n")
    folder = project.mkdir("deep")
    (folder / "test_it.py").write_text("def test_it(assert_ok):\n    assert assert_ok('{\"age\": 1}').ok\n")
    project.runpytest().assert_outcomes(passed=1)


def test_a_refused_reply_fails_with_its_errors_and_without_our_traceback(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from trueup.testing.asserting import assert_ok

        def test_stored():
            assert_ok('Sure: {"age": "old"}', "people.yaml")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: the reply is refused by people:",
            '*V001 $.age: Field "age": Expected integer, got string',
            "*hint: *",
            "*the changes:",
            "*W002 $: *",
        ]
    )
    assert "asserting.py" not in result.stdout.str()


def test_the_context_is_passed_on(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from trueup import Contract
        from trueup.contract.plugins import check

        @check("TST001", "state-seen", "The state is seen.")
        def seen(verdict, context):
            if context.get("state") == "IDLE":
                yield "seen"

        def test_passes(assert_ok):
            assert_ok("hi", Contract(checks=[seen]))

        def test_fails(assert_ok):
            assert_ok("hi", Contract(checks=[seen]), {"state": "IDLE"})
        """
    )
    result = project.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*TST001 $: seen"])


def test_no_contract_or_a_broken_one_says_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        def test_none(trueup_contract): ...

        @pytest.mark.trueup("broken.yaml")
        def test_broken(trueup_contract): ...

        @pytest.mark.trueup("nowhere.yaml")
        def test_missing(trueup_contract): ...
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        [
            "*no contract: mark the test with*",
            "*broken.yaml:1:1: N005 unknown key 'shema'*",
            "*there is no such file*",
        ]
    )


def test_mistakes_of_a_test_are_reported_in_one_line_without_our_traceback(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from trueup import Contract

        @pytest.mark.trueup("nowhere.yaml")
        def test_no_file(trueup_contract):
            pass

        def test_no_contract(assert_ok):
            assert_ok("x")

        def test_no_path(assert_ok):
            assert_ok("x", "nowhere.yaml")

        def test_no_such_state(assert_ok):
            assert_ok("Hello!", Contract(states={"ASKING": {"forbid": [{"terms": ["Ana"]}]}}), {"state": "ASKNG"})
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*nowhere.yaml:1:1: N001 there is no such file",
            "no contract: mark the test with @pytest.mark.trueup*",
            "*AssertionError: the contract cannot be used:",
            "*AssertionError: the context of the test is wrong: *'ASKNG'*did you mean 'ASKING'*",
        ]
    )
    result.stdout.no_fnmatch_line("*plugin.py*")
    result.stdout.no_fnmatch_line("*load_contract*")
    result.stdout.no_fnmatch_line("During handling of*")


def test_a_path_is_searched_next_to_the_test(project: pytest.Pytester) -> None:
    folder = project.mkdir("deep")
    (folder / "other.yaml").write_text(CONTRACT.replace("people", "other"))
    (folder / "test_it.py").write_text(
        "def test_it(assert_ok):\n    for name in ('other.yaml', 'people.yaml'):\n        assert_ok('{\"age\": 1}', name)\n"
    )
    project.runpytest().assert_outcomes(passed=1)


def test_a_value_that_is_not_a_contract_is_reported() -> None:
    from trueup.testing.asserting import assert_ok

    with pytest.raises(TypeError, match="takes a contract or the path of one; got 5"):
        assert_ok("x", 5)  # type: ignore[arg-type]
