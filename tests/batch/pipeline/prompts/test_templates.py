"""Prompts: strict, in a sandbox, with limits; text that a model wrote is only ever a value."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.batch.pipeline.prompts.templates import PromptError, Prompts, fields_of


def rendered(folder: Path, source: str, **fields: Any) -> str:
    (folder / "t.jinja2").write_text(source, "utf-8")
    return Prompts(folder).render("t.jinja2", fields)


def test_fields_loops_and_filters_work(tmp_path: Path) -> None:
    source = "{{ npc.name | upper }} {% for x in xs %}{{ loop.index }}/{{ loop.length }}{{ x }} {% endfor %}{{ xs | join('-') }} {{ a ~ b }} {{ xs | tojson }}"
    assert rendered(tmp_path, source, npc={"name": "Ada"}, xs=[7, 8], a=1, b="c") == "ADA 1/27 2/28 7-8 1c [7,8]"


def test_a_template_may_include_another(tmp_path: Path) -> None:
    (tmp_path / "head.jinja2").write_text("Dear {{ name }}", "utf-8")
    assert rendered(tmp_path, "{% include 'head.jinja2' %}!", name="Ada") == "Dear Ada!"


@pytest.mark.spec("X18")
@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ x.__class__ }}",
        "{{ x.append(1) }}",
        "{{ '{0.__class__}'.format(x) }}",
        "{{ x | attr('__class__') }}",
        "{% include '/etc/passwd' %}",
        "{% include '../secret' %}",
        "{{ lipsum() }}",
        "{{ nothing }}",
        "{{ x.nothing.more }}",
    ],
)
def test_nothing_escapes_from_the_sandbox(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret", "utf-8")
    with pytest.raises(PromptError):
        rendered(folder, source, x=[1])


@pytest.mark.spec("X18")
@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'a' * 1000000000 }}",
        "{{ 10 ** 1000000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 'x'.ljust(1000000000) }}",
        "{{ text | replace('a', text) | replace('a', text) }}",
        "{{ text.replace('a', text).replace('a', text) }}",
        "{{ text.join(text) }}",
        "{{ [1] | batch(1000000000, 'x') | list }}",
        "{{ range(1000000000) | list }}",
        "{% for x in text %}{{ text }}{% endfor %}",
    ],
)
def test_a_template_cannot_use_much_time_or_memory(tmp_path: Path, source: str) -> None:
    with pytest.raises(PromptError):
        rendered(tmp_path, source, text="a" * 20_000)


@pytest.mark.spec("X18")
@given(said=st.text(alphabet=st.sampled_from("{}%#7*_'\" axcfg[]|.()-"), max_size=60))
def test_text_written_by_a_model_is_never_a_template(tmp_path_factory: pytest.TempPathFactory, said: str) -> None:
    folder = tmp_path_factory.mktemp("t")
    assert rendered(folder, "<{{ x }}{{ y.z }}>", x=said, y={"z": said}) == f"<{said}{said}>"


def test_an_error_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(PromptError) as missing:
        rendered(tmp_path, "one\ntwo {{ three }}")
    assert (missing.value.line, "three" in str(missing.value)) == (2, True)
    with pytest.raises(PromptError) as broken:
        rendered(tmp_path, "one\n\n{% if x %}")
    assert broken.value.line == 3


def test_the_shared_context_is_not_overridden_by_a_unit() -> None:
    fields = fields_of({"game": "of the model", "a": 1}, {"api": {}}, {"game": "ours"})
    assert fields == {"game": "ours", "a": 1, "config": {"api": {}}}
