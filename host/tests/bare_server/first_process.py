"""The first process of a machine of machine.py: mounts its root, and then only waits.

    unshare --mount --pid --fork ... python first_process.py FOLDER

It uses nothing but the standard library, and runs before there is a machine. It prints a line when
all is mounted, and ends when its standard input does: then the kernel ends all other processes of
the machine, and with the last of them its mounts go.
"""

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_POLL_S = 0.2


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True)


def _mount_root(folder: Path) -> Path:
    """An overlay over the root of this computer: what is written goes to memory, and is gone at the
    end. File systems mounted below it are not in it."""
    _mount("--make-rprivate", "/")
    _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", folder)
    above, work, root = (folder / name for name in ("above", "work", "root"))
    for each in (above, work, root):
        each.mkdir()
    _mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={above},workdir={work}", "overlay", root)
    _mount("-t", "proc", "proc", root / "proc")
    _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", root / "run")
    _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", root / "dev")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        (root / "dev" / name).touch()
        _mount("--bind", Path("/dev", name), root / "dev" / name)
    for name in ("pts", "shm"):
        (root / "dev" / name).mkdir()
    terminals = "newinstance,ptmxmode=0666,mode=0620,gid=5"
    _mount("-t", "devpts", "-o", terminals, "devpts", root / "dev/pts")
    (root / "dev/ptmx").symlink_to("pts/ptmx")
    _mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / "dev/shm")
    return root


def main() -> None:
    """Mount, say so, and wait for the end of standard input."""
    root = _mount_root(Path(sys.argv[1]))
    os.chroot(root)
    os.chdir("/")
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], _POLL_S)[0]:
        with suppress(ChildProcessError):  # programs whose parent has ended are ours to wait for
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


if __name__ == "__main__":
    main()
