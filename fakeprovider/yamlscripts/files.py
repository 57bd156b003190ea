"""Files of YAML scripts: finding, reading, checking and watching them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fakeprovider.yamlscripts.compiling import FileScript, compiled
from fakeprovider.yamlscripts.language import SCRIPT
from fakeprovider.yamlscripts.nodes import Problem, Problems, read

SUFFIXES = (".yaml", ".yml")


class BadScripts(ValueError):
    """Files that are no scripts; `problems` are all that was found in them."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def load(path: Path | str) -> dict[str, FileScript]:
    """The scripts of a file, or of a folder and the folders in it, by name.

    A script is named after its file unless it says its name. Raises `BadScripts`, and OSError.
    """
    scripts, problems = check(path)
    if problems:
        raise BadScripts(problems)
    return scripts


def check(path: Path | str) -> tuple[dict[str, FileScript], list[Problem]]:
    """The scripts that are right, and every problem of the others. Raises OSError."""
    top = Path(path)
    files = list(script_files(top))
    problems: list[Problem] = []
    scripts: dict[str, FileScript] = {}
    homes: dict[str, Path] = {}
    if not files:
        problems.append(Problem(str(top), 1, f"no scripts here; allowed: {' and '.join(SUFFIXES)}"))
    for file in files:
        script, mistakes = _read_file(file, top)
        problems += mistakes
        if script is None:
            continue
        if script.name in homes:
            taken = f"the name {script.name!r} is taken by {homes[script.name]}"
            problems.append(Problem(str(file), 1, taken))
        homes[script.name] = file
        scripts[script.name] = script
    return scripts, problems


def _read_file(file: Path, top: Path) -> tuple[FileScript | None, list[Problem]]:
    """One file of a folder that cannot be read is a problem of that file."""
    try:
        text = file.read_bytes()
    except OSError as error:
        if file == top:
            raise
        return None, [Problem(str(file), 1, f"cannot be read: {error.strerror}")]
    return read_script(text, file.stem, str(file))


def read_script(
    text: bytes | str, name: str, file: str = "script"
) -> tuple[FileScript | None, list[Problem]]:
    """The script in a text, or None and the problems that were found."""
    problems = Problems(file)
    try:
        document = read(text if isinstance(text, str) else text.decode(), problems)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        problems.add(line, f"not UTF-8: byte 0x{error.object[error.start]:02x}")
        return None, problems.noted
    if document is None:
        return None, problems.noted
    SCRIPT.check(document, problems)
    if problems.noted:
        return None, problems.noted
    return compiled(document, name, problems), problems.noted


def script_files(top: Path) -> Iterator[Path]:
    """The file itself, or the script files of a folder in order of their paths.

    Hidden files and folders are passed over, and folders of other people's files: node_modules and
    virtual environments.
    """
    if top.is_dir():
        yield from sorted(_below(top))
    else:
        yield top


def _below(top: Path) -> Iterator[Path]:
    """The script files in a folder and in the folders in it."""
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not _foreign(Path(folder, name))]
        for name in files:
            file = Path(folder, name)
            if not name.startswith(".") and file.suffix in SUFFIXES and not file.is_fifo():
                yield file


def _foreign(folder: Path) -> bool:
    hidden = folder.name.startswith(".")
    return hidden or folder.name == "node_modules" or (folder / "pyvenv.cfg").exists()


def stamps(top: Path) -> Mapping[Path, tuple[int, int]]:
    """What changes when a script does: each file's time of change (ns) and size."""
    stamped = {}
    for file in script_files(top):
        try:
            stat = file.stat()
        except FileNotFoundError:
            continue  # between being listed and being looked at
        stamped[file] = (stat.st_mtime_ns, stat.st_size)
    return stamped
