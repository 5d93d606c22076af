"""A file that is replaced keeps its permissions, a read-only one stays, and long names are no problem."""

from __future__ import annotations

import os
import stat

import pytest

from ratewise._atomic import abandoned_parts, atomic_write, write_bytes

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "model"
    write_bytes(path, b"old")
    path.chmod(mode)
    with atomic_write(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # before anything can be read
        file.write(b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


@posix
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    write_bytes(tmp_path / "ours", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert mode_of(tmp_path / "ours") == mode_of(tmp_path / "plain")


@posix
def test_a_read_only_file_is_refused_and_stays(tmp_path):
    path = tmp_path / "model"
    write_bytes(path, b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_bytes(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"old", 0o444)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "b" * 230])
def test_a_name_as_long_as_the_system_takes_can_be_written(tmp_path, name):
    path = tmp_path / name
    write_bytes(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_beside_a_long_name_is_found(tmp_path):
    path, other = tmp_path / ("a" * 250), tmp_path / ("a" * 251)
    with atomic_write(path) as file:
        left = os.path.basename(file.name)
    (tmp_path / left).write_bytes(b"half")
    assert [one.name for one in abandoned_parts(path)] == [left]
    assert abandoned_parts(other) == []
