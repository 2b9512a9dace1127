"""What is written is whole whenever it can be seen, whatever goes wrong on the way."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.storage import (
    StorageError,
    cache_directory,
    fingerprint,
    lock,
    new_directory,
    write_file,
)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"\x00\xff", "größer\n", b"", "x" * 100_000])
def test_a_file_is_written_in_place_of_another(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "file"
    write_file(path, "old")
    write_file(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_fault_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "file"
    write_file(path, "old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"os.{call}" if call == "fsync" else f"pathlib.Path.{call}", fail)
    with pytest.raises(StorageError, match=r"file: cannot be written: No space left on device \(make room\)"):
        write_file(path, "new", "make room")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file or directory"):
        write_file(tmp_path / "nowhere" / "file", "text")


@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path, when: str) -> None:
    path = tmp_path / "file"
    write_file(path, "old" * 1000)
    program = f"""
import os, signal
from pathlib import Path
from pellucid import storage
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
fsync, replace = os.fsync, Path.replace
when = {when!r}
if when == "before": os.fsync = die
if when == "during": Path.replace = die
if when == "after": Path.replace = lambda self, path: (replace(self, path), die())
storage.write_file(Path({str(path)!r}), "new" * 1000)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == ("new" if when == "after" else "old") * 1000


# --- directories --------------------------------------------------------------------------------------------------


def test_a_directory_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "made" / "here"
    with new_directory(path) as draft:
        (draft / "a").write_text("1")
        (draft / "b").mkdir()
        (draft / "b" / "c").write_text("2")
        assert not path.exists()
    assert (path / "b" / "c").read_text() == "2"
    assert names(path.parent) == ["here"]


def test_an_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with new_directory(tmp_path / "here") as draft:
            (draft / "a").write_text("1")
            raise ValueError("oops")

    with pytest.raises(ValueError, match="oops"):
        fill()
    assert names(tmp_path) == []


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_fault_leaves_the_older_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "here"
    with new_directory(path) as draft:
        (draft / "a").write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"os.{call}" if call == "fsync" else f"pathlib.Path.{call}", fail)
    with (
        pytest.raises(StorageError, match=r"here: cannot be written: No space left on device \(free some space there"),
        new_directory(path, keep=lambda _existing, _draft: False) as draft,
    ):
        (draft / "a").write_text("new")
    assert (path / "a").read_text() == "old"
    assert names(tmp_path) == ["here"]


def test_a_fault_at_the_last_moment_leaves_the_older_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older directory is out of the way, and the new one cannot take its place."""
    path = tmp_path / "here"
    with new_directory(path) as draft:
        (draft / "a").write_text("old")
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if target == path and (self / "a").read_text() == "new" and not path.exists():
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with (
        pytest.raises(StorageError, match="here: cannot be written: Input/output error"),
        new_directory(path, keep=lambda _existing, _draft: False) as draft,
    ):
        (draft / "a").write_text("new")
    assert (path / "a").read_text() == "old"
    assert names(tmp_path) == ["here"]


def test_a_directory_that_is_there_stays_unless_it_should_not(tmp_path: Path) -> None:
    path = tmp_path / "here"
    for content, keep in (("1", True), ("2", True), ("3", False)):
        with new_directory(path, keep=lambda _existing, _draft, keep=keep: keep) as draft:  # type: ignore[misc]
            (draft / "a").write_text(content)
        assert (path / "a").read_text() == ("3" if content == "3" else "1")
    assert names(tmp_path) == ["here"]


def test_a_directory_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    with new_directory(tmp_path / "here"):
        pass
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_a_killed_process_leaves_no_half_directory_under_its_name(tmp_path: Path) -> None:
    program = f"""
import os, signal
from pathlib import Path
from pellucid.storage import new_directory
with new_directory(Path({str(tmp_path / "here")!r})) as draft:
    (draft / "a").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    assert not (tmp_path / "here").exists()


def test_replacing_what_another_process_removed(tmp_path: Path) -> None:
    path = tmp_path / "here"
    with new_directory(path) as draft:
        (draft / "a").write_text("old")

    def removed_meanwhile(existing: Path, _draft: Path) -> bool:
        shutil.rmtree(existing)
        return False

    with new_directory(path, keep=removed_meanwhile) as draft:
        (draft / "a").write_text("new")
    assert (path / "a").read_text() == "new"
    assert names(tmp_path) == ["here"]


def test_replacing_what_another_process_made_again(tmp_path: Path) -> None:
    path = tmp_path / "here"
    asked: list[str] = []
    rename = Path.rename

    def made_again(self: Path, target: Path) -> Path:
        renamed = rename(self, target)
        if self == path and len(asked) == 1:  # it was moved aside, and another process makes one in its place
            path.mkdir()
            (path / "a").write_text("other")
        return renamed

    def keep(existing: Path, _draft: Path) -> bool:
        asked.append((existing / "a").read_text())
        return False

    with new_directory(path) as draft:
        (draft / "a").write_text("old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", made_again)
        with new_directory(path, keep=keep) as draft:
            (draft / "a").write_text("new")
    assert asked == ["old", "other"]
    assert (path / "a").read_text() == "new"
    assert names(tmp_path) == ["here"]


def test_ctrl_c_at_the_last_moment_leaves_the_older_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rename = tmp_path / "here", Path.rename
    with new_directory(path) as draft:
        (draft / "a").write_text("old")

    def interrupted(self: Path, target: Path) -> Path:
        if self.name == "draft" and not path.exists():  # the older one has just been moved aside
            raise KeyboardInterrupt
        return rename(self, target)

    def replace() -> None:
        with new_directory(path, keep=lambda _existing, _draft: False) as draft:
            (draft / "a").write_text("new")

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace()
    assert (path / "a").read_text() == "old"


def test_a_file_in_the_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("a file")
    with pytest.raises(StorageError, match="cannot be written"), new_directory(tmp_path / "here"):
        pass
    assert (tmp_path / "here").read_text() == "a file"


# --- locks --------------------------------------------------------------------------------------------------------


def test_a_lock_is_held_by_one_process_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = f"""
import sys
from pathlib import Path
from pellucid.errors import UserError
from pellucid.storage import lock
with lock(Path({str(path)!r}), UserError("busy")):
    print("held", flush=True)
    sys.stdin.read()
"""
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(UserError, match="in use"), lock(path, UserError("in use")):
        pass
    holder.kill()
    holder.communicate()
    with lock(path, UserError("in use")):
        pass


# --- cache --------------------------------------------------------------------------------------------------------


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_CACHE", "/own")
    monkeypatch.setenv("XDG_CACHE_HOME", "/shared")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_directory() == Path("/own")
    monkeypatch.delenv("PELLUCID_CACHE")
    assert cache_directory() == Path("/shared/pellucid")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_directory() == Path("/home/someone/.cache/pellucid")


def test_a_fingerprint_changes_with_files_and_settings(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"x" * 200_000)
    second.write_bytes(b"")
    settings = {"size": 300, "rules": {"longest": 9}}
    names = [fingerprint([first, second], settings)]
    assert names[0] == fingerprint([first, second], dict(reversed(settings.items())))
    names.append(fingerprint([second, first], settings))
    names.append(fingerprint([first], settings))
    names.append(fingerprint([first, second], {**settings, "size": 301}))
    status = first.stat()
    for content in (b"y" + b"x" * 199_999, b"x" * 199_999 + b"y"):  # same size, same time
        first.write_bytes(content)
        os.utime(first, ns=(status.st_atime_ns, status.st_mtime_ns))
        names.append(fingerprint([first, second], settings))
    os.utime(first, ns=(1, 1))
    names.append(fingerprint([first, second], settings))
    assert len(set(names)) == len(names)
