"""The command that installs the packages of an extra, for messages about a missing package.

The packages come from trueup's own metadata. The command never names trueup: until it is on a package index, somebody else can publish a
package of that name.
"""

from trueup.verdict.patterns import lazy_regex

_OF_AN_EXTRA = lazy_regex(
    r"(?P<package>[^;]+);\s*(?:\(?(?P<only>.+?)\)?\s+and\s+)?extra\s*==\s*['\"](?P<extra>[\w.-]+)['\"]"
)


def install(extra: str) -> str:
    """The command for an extra, quoted for every common shell.

    >>> install("http")
    'pip install "httpx>=0.27"'

    If the metadata does not list the extra, for example because trueup is not installed, the answer says where to look.

    >>> install("juggling")
    "install the packages of the extra 'juggling', which trueup's pyproject.toml lists"
    """
    packages = packages_of(extra)
    if not packages:
        return f"install the packages of the extra {extra!r}, which trueup's pyproject.toml lists"
    return f"pip install {' '.join(quoted(package) for package in packages)}"


def packages_of(extra: str) -> list[str]:
    """The packages of an extra, with their versions and the systems that need them.

    >>> packages_of("tables")
    ['pyarrow>=18']
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = [_OF_AN_EXTRA.fullmatch(line) for line in requires("trueup") or ()]
    except PackageNotFoundError:
        return []
    return [
        f"{match['package']}; {match['only']}" if match["only"] else match["package"]
        for match in listed
        if match and match["extra"] == extra
    ]


def quoted(package: str) -> str:
    """The package in double quotes, which protect `>` and `[` in cmd.exe, PowerShell and POSIX shells.

    >>> print(quoted("uvloop>=0.21; platform_system != 'Windows'"))
    "uvloop>=0.21; platform_system != 'Windows'"
    """
    return '"' + package.replace('"', "'") + '"'
