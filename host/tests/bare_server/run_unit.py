"""Does what a unit of systemd says, as far as it decides whether a program works: runs inside a
machine of machine.py, as root, in the place of systemd.

    python run_unit.py /etc/systemd/system/sabot-log.service

Users and groups, folders and their modes, the file of settings, credentials, the empty environment,
and that nothing can be written to but the unit's own folders, are as systemd.exec(5) says. What
confines a program further is read by `systemd-analyze` in other tests. Ends with the program; a
unit of several commands runs them in order.
"""

import grp
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CREDENTIALS = Path("/run/credentials")
_FOLDERS = {"StateDirectory": Path("/var/lib"), "RuntimeDirectory": Path("/run")}


class Unit:
    """The settings of [Service], each with all its values."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        text = path.read_text()
        section = text.partition("[Service]\n")[2].partition("\n[")[0]
        self._settings: dict[str, list[str]] = {}
        for line in section.splitlines():
            if line and not line.startswith("#"):
                key, _, value = line.partition("=")
                self._settings.setdefault(key, []).append(value)

    def all(self, key: str) -> list[str]:
        """Every value of a setting, in order."""
        return self._settings.get(key, [])

    def one(self, key: str, otherwise: str = "") -> str:
        """The value of a setting that has one."""
        return self._settings.get(key, [otherwise])[-1]


def _make_folders(unit: Unit, user: pwd.struct_passwd) -> list[Path]:
    made = []
    for key, above in _FOLDERS.items():
        for name in unit.one(key).split():
            folder = above / name
            folder.mkdir(exist_ok=True)
            shutil.chown(folder, user.pw_uid, user.pw_gid)
            folder.chmod(int(unit.one(f"{key}Mode", "0755"), 8))
            made.append(folder)
    return made


def _load_credentials(unit: Unit, user: pwd.struct_passwd) -> Path:
    """Copy what root can read to where only the program's user can."""
    folder = _CREDENTIALS / unit.name
    for pair in unit.all("LoadCredential"):
        name, _, source = pair.partition(":")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
        (folder / name).chmod(0o400)
        for each in (folder / name, folder):
            shutil.chown(each, user.pw_uid, user.pw_gid)
    return folder


def _environment(unit: Unit, user: pwd.struct_passwd, credentials: Path) -> dict[str, str]:
    known = {
        "PATH": _PATH, "LANG": "C.UTF-8", "HOME": user.pw_dir, "USER": user.pw_name,
        "LOGNAME": user.pw_name, "SHELL": user.pw_shell,
    }  # fmt: skip
    if unit.all("LoadCredential"):
        known["CREDENTIALS_DIRECTORY"] = str(credentials)
    for pair in unit.all("Environment"):
        name, _, value = pair.partition("=")
        known[name] = value.replace("%d", str(credentials))
    for path in unit.all("EnvironmentFile"):
        for line in Path(path).read_text().splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.partition("=")
                known[name] = value.strip()
    return known


def words_of(command: str, known: dict[str, str]) -> list[str]:
    """The words of a command of a unit: `${NAME}` is filled in, and `$NAME` as a word of its own
    becomes as many words as it has. What is in quotes is one word, in which a shell does that."""
    words = []
    for quoted, single, word in re.findall(r"""'([^']*)'|"([^"]*)"|(\S+)""", command):
        if quoted or single:
            words.append((quoted or single).replace("%%", "%"))
        elif re.fullmatch(r"\$[A-Z_]+", word):
            words += known.get(word[1:], "").split()
        else:
            words.append(re.sub(r"\$\{([A-Z_]+)\}", lambda name: known.get(name[1], ""), word))
    return words


def _confine(unit: Unit, folders: list[Path]) -> None:
    """From here on nothing can be written to but the unit's own folders, and new temporary ones."""
    for each in folders:
        subprocess.run(["mount", "--bind", each, each], check=True)
    if unit.one("PrivateTmp") == "yes":
        temporary = ["-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/var/tmp"]
        subprocess.run(["mount", *temporary], check=True)
    if unit.one("ProtectSystem") == "strict":
        subprocess.run(["mount", "-o", "remount,bind,ro", "/"], check=True)


def main() -> None:
    """Run the unit; the exit code is that of its last command."""
    unit = Unit(Path(sys.argv[1]))
    user = pwd.getpwnam(unit.one("User"))
    groups = [grp.getgrnam(name).gr_gid for name in unit.one("SupplementaryGroups").split()]
    group = grp.getgrnam(unit.one("Group"))
    folders = _make_folders(unit, user)
    credentials = _load_credentials(unit, user)
    known = _environment(unit, user, credentials)
    _confine(unit, folders)
    code = 0
    for command in [*unit.all("ExecStart"), *unit.all("ExecStartPost")]:
        code = subprocess.run(
            words_of(command, known),
            cwd=unit.one("WorkingDirectory", "/"), env=known, umask=int(unit.one("UMask"), 8),
            user=user.pw_uid, group=group.gr_gid, extra_groups=groups, stdin=subprocess.DEVNULL,
        ).returncode  # fmt: skip
        if code:
            break
    sys.exit(code)


if __name__ == "__main__":
    main()
