"""Runs this compiled program: ``python DIR --bounds T=64 --input x=x.npy``.

It needs Python 3.11 or later, jax 0.8.1 or later, jaxlib 0.8.1 or later, ml_dtypes 0.5 or later and
numpy 2.0 or later.

The modules of the runner are read at once, before one is imported, and each is compared with its
digest in ``program.json``. So they are of one compilation, even if the program is compiled again
meanwhile, and what is executed is what was compared.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import marshal
import os
import signal
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

HERE = Path(__file__).resolve().parent
PYTHON = (3, 11)
PACKAGE, PROGRAM, KERNELS = "tempoc", "program.json", "kernels.py"
CHANGED = "undo the change, or compile the program again into another directory"
INTERRUPTED = 130
_TRIES, _PAUSE = 20, 0.01
_CHECKED_HASH = (3).to_bytes(4, "little")


class DamagedRunner(Exception):
    """A file of the runner is missing, or is another one than was written."""


class RunnerFiles:
    """The folder of the program while it stays the same one, and the sources of the runner."""

    def __init__(self) -> None:
        """Read all sources. Raises ``DamagedRunner``, and ``OSError`` if there is no folder."""
        self.folder = os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = self.read(PROGRAM).decode()
            start = text.index('"files": ') + len('"files": ')
            listed = dict(json.JSONDecoder().raw_decode(text, start)[0])
            names = [name for name in listed if name.endswith(".py") and not name.endswith(KERNELS)]
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            raise DamagedRunner(PROGRAM) from None
        self.sources = {name: self.checked(name, listed[name]) for name in names}

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises ``OSError``."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        handle = os.open(name, flags, dir_fd=self.folder)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError("not a file")
            return file.read()

    def checked(self, name: str, digest: str) -> bytes:
        """The bytes of a file with that SHA-256. Raises ``DamagedRunner``."""
        try:
            content = self.read(name)
        except (OSError, ValueError):
            raise DamagedRunner(name) from None
        if sha256(content).hexdigest() != digest:
            raise DamagedRunner(name)
        return content


class RunnerFinder(MetaPathFinder):
    """Finds the modules of the runner, which was written as a part of the package ``tempoc``."""

    def __init__(self, files: RunnerFiles) -> None:
        self.files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of a listed file; nothing that is not listed is ever found."""
        if not fullname.startswith(f"{PACKAGE}."):
            return None
        stem = fullname.removeprefix(f"{PACKAGE}.").replace(".", "/")
        for name in (f"{stem}.py", f"{stem}/__init__.py"):
            if name in self.files.sources:
                loader = RunnerLoader(fullname, self.files, name)
                below: list[str] | None = [] if name.endswith("__init__.py") else None
                return importlib.util.spec_from_file_location(
                    fullname, HERE / name, loader=loader, submodule_search_locations=below
                )
        return None


class RunnerLoader(SourceFileLoader):
    """Loads a module from its source, or from bytecode that Python keeps of that very source."""

    def __init__(self, fullname: str, files: RunnerFiles, name: str) -> None:
        super().__init__(fullname, str(HERE / name))
        self.files, self.file = files, name

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module."""
        source = self.files.sources[self.file]
        head = importlib.util.MAGIC_NUMBER + _CHECKED_HASH + importlib.util.source_hash(source)
        root = "" if sys.pycache_prefix is None else str(HERE)
        cached = importlib.util.cache_from_source(os.path.join(root, self.file))
        with suppress(OSError, ValueError, EOFError, TypeError):
            bytecode = self.files.read(cached)
            if bytecode.startswith(head):
                loaded = marshal.loads(memoryview(bytecode)[len(head) :])
                if isinstance(loaded, CodeType):
                    return loaded
        code: CodeType = compile(source, self.path, "exec", dont_inherit=True)
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                self._keep(cached, head + marshal.dumps(code))
        return code

    def _keep(self, cached: str, bytecode: bytes) -> None:
        """Write bytecode where Python looks for it (PEP 552, checked by hash)."""
        folder, fresh = self.files.folder, f"{cached}.{os.getpid()}"
        with suppress(FileExistsError, FileNotFoundError):
            os.mkdir(os.path.dirname(cached), dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(fresh, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(bytecode)
            os.replace(fresh, cached, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(fresh, dir_fd=folder)
            raise


def runner_files() -> RunnerFiles:
    """The files of the runner, read again if another compilation replaced them meanwhile.

    Raises ``DamagedRunner`` and ``OSError``.
    """
    for _ in range(_TRIES):
        before = _identity()
        try:
            return RunnerFiles()
        except (DamagedRunner, OSError):
            if before is not None and _identity() == before:
                raise
            time.sleep(_PAUSE)
    return RunnerFiles()


def _identity() -> tuple[int, int, int] | None:
    with suppress(OSError):
        now = os.stat(HERE)
        return now.st_dev, now.st_ino, now.st_ctime_ns
    return None


def start() -> int:
    """Import the runner and run; returns the exit status."""
    # Who is asked to stop leaves no temporary files either.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.version_info < PYTHON:
        return _cannot_run(f"Python {sys.version.split()[0]} is too old", "use 3.11 or later")
    try:
        str(HERE).encode()
    except UnicodeEncodeError:
        # JAX writes the names of files with code down as texts, and dies.
        shown = os.fsencode(HERE).decode("utf-8", "replace")
        help = "rename it, or set LANG=C.UTF-8 if it is UTF-8"
        return _failed("RT505", f"{shown} cannot run: its name is not text", help)
    try:
        finder = RunnerFinder(runner_files())
        # Python puts this folder first, where `import program` would find what nobody compared.
        sys.path[:] = [p for p in sys.path if Path(p).resolve() != HERE]
        package = ModuleType(PACKAGE)
        package.__path__, package.__file__ = [], str(HERE)
        sys.modules[PACKAGE] = package
        sys.meta_path.insert(0, finder)
        interrupts = importlib.import_module(f"{PACKAGE}.files.interrupts")
        interrupts.end_when_asked()
        runner = importlib.import_module(f"{PACKAGE}.runtime.main")
    except (DamagedRunner, OSError) as error:
        return _failed("RT503", f"{HERE}/{error} is not the file that the compiler wrote", CHANGED)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except Exception as error:
        # What is imported was compared, so it is Python, a library or the environment that fails.
        return _cannot_run(*_reason(error))
    status: int = runner.main([str(HERE), *sys.argv[1:]])
    return status


def _reason(error: Exception) -> tuple[str, str]:
    """Why nothing can be imported, and what helps; which packages are there may be unknown, too."""
    reason = str(error).split("\n")[0] or type(error).__name__
    help = "give it more memory, if there is a limit (ulimit -v)"
    with suppress(Exception):
        requirements = importlib.import_module(f"{PACKAGE}.diagnostics.requirements")
        if unmet := requirements.unmet_here():
            return "; ".join(unmet.values()), requirements.install(unmet)
        help += f", or: {requirements.install(requirements.RUNNER)}"
    return reason, help


def _cannot_run(reason: str, help: str) -> int:
    return _failed("RT505", f"{HERE} cannot run: {reason}", help)


def _failed(code: str, message: str, help: str) -> int:
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
    sys.stderr.write(f"error[{code}]: {shown}\nhelp: {help}\n")
    return 1


if __name__ == "__main__":
    sys.exit(start())
