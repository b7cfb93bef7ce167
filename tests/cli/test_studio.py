"""`trueup studio`: what is wrong with its options is said before anything is served."""

import pytest

from tests.cli.running import Run
from trueup.cli.studio import _host


@pytest.mark.parametrize("host", ["http://studio.example.com", "box:8765", "", "a b", "*", "box/", "[::1]:80"])
def test_a_host_that_no_browser_sends_is_refused(run: Run, host: str) -> None:
    """It would be added in silence, and the studio would still refuse the name."""
    done = run("studio", "--no-browser", "--host", host)
    assert done.code == 2
    assert f"--host {host!r}: give a name without a scheme and a port, such as studio.example.com" in done.err


def test_a_host_is_known_as_browsers_send_it() -> None:
    given = ["Studio.Example.com", "my_box", "2001:DB8:0:0::1", "[::1]", "10.0.0.1"]
    assert [_host(each) for each in given] == ["studio.example.com", "my_box", "[2001:db8::1]", "[::1]", "10.0.0.1"]
