"""A Debian machine of a test's own, on which a page of documentation can be followed from its first
command on.

    with Network() as network, network.machine("server") as server:
        server.run("adduser --system --group sabot")

It is an overlay over the root of this computer, in namespaces of its own: what is written, is
written to memory, its processes see no others, and its network is the one that all machines of a
test share, with the addresses of the pages. All of it goes with its first process. It needs root,
and a kernel that lets it mount; `why_not` says if something is missing.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from host.tests.support.pages import ROOT
from sabot_hil.kit.waiting import wait_until

_HERE = Path(__file__).parent
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TIMEOUT_S = 120.0
_LOOK_S = 0.2
_PROGRAMS = ("unshare", "nsenter", "runuser", "adduser", "ip", "openssl")
_NAMESPACES = ("--mount", "--pid", "--uts", "--ipc")
PYTHON = "/opt/sabot/bin/python"


@cache
def why_not(*packages: str) -> str:
    """Return why there can be no such machine here, or none with these packages of Debian; empty if
    there can be."""
    if os.geteuid() != 0:
        return "only root can mount"
    if not Path("/etc/debian_version").exists():
        return "the pages are for Debian, and this is none"
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    for package in packages:
        status = ["dpkg-query", "--show", "--showformat=${Status}", package]
        asked = subprocess.run(status, capture_output=True, text=True, check=False)
        if "ok installed" not in asked.stdout:
            return f"not installed: {package} of Debian, with which the page was tried"
    with tempfile.TemporaryDirectory(prefix="sabot-mount-") as folder:
        mount = (
            f"mount -t tmpfs none {folder} && cd {folder} && mkdir a w r && "
            "mount -t overlay -o lowerdir=/,upperdir=a,workdir=w overlay r"
        )
        tried = subprocess.run(
            ["unshare", *_NAMESPACES, "--net", "--fork", "sh", "-c", mount],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    return f"mounts are not permitted here: {tried.stderr.strip()}" if tried.returncode else ""


class Network:
    """What the machines of a test share: the addresses of the pages, and nothing outside."""

    def __init__(self) -> None:
        self._holder: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Network":
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && read end"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._holder.stdout is not None and self._holder.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._holder is not None
        self._holder.communicate()

    def add(self, *addresses: str) -> None:
        """Give the network these addresses, as in "10.1.0.1/16"."""
        for each in addresses:
            subprocess.run([*self.inside, "ip", "addr", "add", each, "dev", "lo"], check=True)

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with that runs in it."""
        assert self._holder is not None
        return ("nsenter", f"--target={self._holder.pid}", "--net", "--")

    @contextmanager
    def machine(self, name: str, hosts: Mapping[str, str] | None = None) -> Iterator["Machine"]:
        """A machine in it. `hosts` has the addresses of others by their names."""
        with tempfile.TemporaryDirectory(prefix="sabot-bare-") as folder:
            first = [PYTHON_HERE, str(_HERE / "first_process.py"), folder]
            started = subprocess.Popen(
                [*self.inside, "unshare", *_NAMESPACES, "--fork", "--kill-child", *first],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert started.stdout is not None and started.stdin is not None
            assert started.stdout.readline() == "ready\n"
            children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text()
            machine = Machine(int(children), name)
            try:
                lines = [f"{address} {host}\n" for host, address in (hosts or {}).items()]
                machine.write("/etc/hosts", "127.0.0.1 localhost\n" + "".join(lines))
                yield machine
            finally:
                started.communicate()
                for each in machine.started:
                    each.wait()


PYTHON_HERE = os.path.realpath(sys.executable)
"""The interpreter without its virtual environment."""


def _runner(unit: str) -> str:
    path = f"/etc/systemd/system/{unit}.service"
    return shlex.join(["unshare", "--mount", PYTHON, str(_HERE / "run_unit.py"), path])


class Machine:
    """A running machine. `folder` is where the next command runs."""

    def __init__(self, first: int, name: str) -> None:
        self._inside = (
            "nsenter", f"--target={first}", "--mount", "--pid", "--uts", "--ipc", "--net",
            "--root", "--wdns=/", "--", "env", "-i", f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8",
        )  # fmt: skip
        self._name = name
        self.folder = "/"
        self.user = "root"
        self.exported: dict[str, str] = {}
        self.started: list[subprocess.Popen[bytes]] = []

    def run(
        self, command: str, typed: str = "", codes: Sequence[int] = (0,), user: str = ""
    ) -> str:
        """Run a line of a shell, as the user and in the folder of the lines before; return what it
        printed. `typed` is on its standard input."""
        done = subprocess.run(
            self._command(command, user), input=typed, capture_output=True, text=True,
            timeout=_TIMEOUT_S, start_new_session=True, check=False,
        )  # fmt: skip
        said = f"{self._name}# {command}\n{done.stdout}{done.stderr}"
        assert done.returncode in codes, f"{said}(exit code {done.returncode})"
        return done.stdout + done.stderr

    def start(self, command: str, output: str, user: str = "") -> None:
        """Run a line of a shell in the background. It ends with the machine."""
        line = f"exec > {output} 2>&1 && {command}"
        self.started.append(
            subprocess.Popen(
                self._command(line, user), stdin=subprocess.DEVNULL, start_new_session=True
            )
        )

    def start_unit(self, unit: str) -> None:
        """Start a unit that is installed in /etc/systemd/system."""
        self.start(_runner(unit), f"/run/{unit}.output", user="root")

    def run_unit(self, unit: str) -> str:
        """Run such a unit, which ends by itself; return what it printed."""
        return self.run(_runner(unit), user="root")

    def wait_for(self, text: str, unit: str) -> None:
        """Wait until a unit has printed this."""
        self.wait_until_says(f"cat /run/{unit}.output", text)

    def wait_until_says(self, command: str, text: str) -> None:
        """Wait until a command prints this."""
        said = ""

        def says() -> bool:
            nonlocal said
            said = self.run(f"{command} 2> /dev/null || true", user="root")
            return text in said

        assert wait_until(says, _TIMEOUT_S, lambda: time.sleep(_LOOK_S)), f"{command}: {said}"

    def read(self, path: str) -> str:
        """The text of a file; empty if there is none yet."""
        return self.run(f"cat {path} 2> /dev/null || true", user="root")

    def write(self, path: str, text: str, owner: str = "root:root", mode: str = "0644") -> None:
        """Write a file."""
        line = f"cat > {path} && chown {owner} {path} && chmod {mode} {path}"
        self.run(line, typed=text, user="root")

    def link_sabot(self) -> None:
        """Put the tests' own virtual environment, and this checkout, where the page installs Sabot.
        Installing takes a minute; hil_tests/tests/test_wheel.py does that."""
        packages = "/opt/sabot/lib/python{}.{}/site-packages".format(*sys.version_info)
        needed = [Path(each) for each in (sys.base_prefix, sys.prefix, ROOT)]
        folders = {str(folder) for each in needed for folder in (each, *each.parents)}
        self.run(
            f"chmod o+rx {shlex.join(folders)} && mkdir -p /opt/sabot/bin {packages} && "
            f"ln -s {PYTHON_HERE} {PYTHON} && "
            f"ln -s {sys.prefix}/bin/micropython /opt/sabot/bin/ && "
            f"cp {ROOT}/host/scripts/sabot /opt/sabot/bin/", user="root",
        )  # fmt: skip
        self.write("/opt/sabot/pyvenv.cfg", f"home = {Path(PYTHON_HERE).parent}\n")
        sources = [str(ROOT / name) for name in ("host", "firmware", "protocol", "hil_tests")]
        paths = [*sources, sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
        self.write(f"{packages}/tests.pth", "".join(f"{each}\n" for each in paths))

    def _command(self, line: str, user: str) -> list[str]:
        as_user = user or self.user
        prefix = [] if as_user == "root" else ["runuser", "-u", as_user, "--"]
        given = [f"{name}={value}" for name, value in self.exported.items()]
        shell = ["sh", "-c", f"cd {shlex.quote(self.folder)} && {line}"]
        return [*self._inside, *given, *prefix, *shell]
