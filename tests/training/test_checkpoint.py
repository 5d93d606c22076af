"""Work in progress on disk: whole or not at all."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import stat
import sys
import warnings

import numpy as np
import pytest

from ratewise._atomic import atomic_write
from ratewise.training.checkpoint import (
    Checkpoint,
    CheckpointWarning,
    facts_of_files,
    kept_checkpoint,
    remove_checkpoint,
)

FIT = {"seed": 3, "rows": 100}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def truncate(path):
    path.write_bytes(path.read_bytes()[:-5])


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes(bytes(content))


def empty(path):
    path.write_bytes(b"")


def of_the_first_format(path):
    path.write_bytes(b"ratewise checkpoint 1\n" + b"a pickle, which is not loaded " * 9)


DAMAGES = [truncate, flip_a_byte, empty, of_the_first_format]


def test_there_is_nothing_to_load_at_first(path):
    assert Checkpoint(path, FIT).load() is None


def test_what_was_saved_last_is_loaded(path):
    kept = Checkpoint(path, FIT)
    for state in ("first", "second", {"third": [1, 2.5]}):
        kept.save(state)
        assert Checkpoint(path, FIT).load() == state


def test_nothing_but_the_two_files_is_left_behind(path):
    kept = Checkpoint(path, FIT)
    for state in range(5):
        kept.save(state)
    assert sorted(file.name for file in path.parent.iterdir()) == ["fit.checkpoint", "fit.checkpoint.before"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_warned_of_and_the_one_before_it_is_used(path, damage):
    kept = Checkpoint(path, FIT)
    kept.save("first")
    kept.save("second")
    damage(path)
    with pytest.warns(RuntimeWarning, match=r"fit\.checkpoint is damaged"):
        assert Checkpoint(path, FIT).load() == "first"


@pytest.mark.parametrize("damage", DAMAGES)
def test_two_damaged_checkpoints_are_as_good_as_none(path, damage):
    kept = Checkpoint(path, FIT)
    kept.save("first")
    kept.save("second")
    damage(path)
    damage(path.with_name("fit.checkpoint.before"))
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert Checkpoint(path, FIT).load() is None


def test_a_damaged_checkpoint_does_not_take_the_place_of_the_one_before_it(path):
    kept = Checkpoint(path, FIT)
    kept.save("first")
    kept.save("second")
    truncate(path)
    kept = Checkpoint(path, FIT)
    with pytest.warns(RuntimeWarning):
        kept.load()
    kept.save("third")
    truncate(path)
    with pytest.warns(RuntimeWarning):
        assert Checkpoint(path, FIT).load() == "first"


def test_a_stop_between_the_two_renames_loses_nothing(path):
    kept = Checkpoint(path, FIT)
    kept.save("first")
    path.replace(path.with_name("fit.checkpoint.before"))  # what save does first
    assert Checkpoint(path, FIT).load() == "first"


def test_a_state_that_cannot_be_kept_leaves_the_last_one_in_place(path):
    kept = Checkpoint(path, FIT)
    kept.save("first")
    with pytest.raises(ValueError, match="cannot be kept in a checkpoint"):
        kept.save(lambda: None)
    assert Checkpoint(path, FIT).load() == "first"


@pytest.mark.parametrize("name", ["seed", "rows"])
def test_a_checkpoint_of_another_fit_is_refused_and_says_why(path, name):
    Checkpoint(path, FIT).save("first")
    with pytest.raises(ValueError, match=rf"another fit: {name} was {FIT[name]} and is 8 now.*Remove the file"):
        Checkpoint(path, FIT | {name: 8}).load()


def test_another_seed_gets_a_hint(path):
    Checkpoint(path, FIT).save("first")
    with pytest.raises(ValueError, match="random_state"):
        Checkpoint(path, FIT | {"seed": 8}).load()


def test_a_folder_that_is_not_there_is_refused_before_the_work_begins(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Checkpoint(tmp_path / "nowhere" / "fit.checkpoint", FIT)


def test_removing_takes_both_files_and_minds_nothing(path):
    remove_checkpoint(path)
    kept = Checkpoint(path, FIT)
    kept.save("first")
    kept.save("second")
    remove_checkpoint(path)
    assert list(path.parent.iterdir()) == []


def test_a_whole_checkpoint_is_loaded_without_a_warning(path):
    Checkpoint(path, FIT).save("first")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Checkpoint(path, FIT).load() == "first"


def test_what_a_killed_fit_left_half_written_is_removed_with_its_checkpoint(tmp_path):
    for name in ("kept", "kept.before", ".kept.0123abcd.partial", ".kept.2.0123abcd.partial", ".other.partial"):
        (tmp_path / name).touch()
    remove_checkpoint(tmp_path / "kept")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kept.2.0123abcd.partial", ".other.partial"]


class Hostile:
    def __reduce__(self):
        return exec, ("import ratewise; ratewise.hacked = True",)


@pytest.mark.parametrize("magic", [b"ratewise checkpoint 1\n", b"ratewise checkpoint 2\n"])
def test_no_pickle_is_loaded(path, magic):
    body = pickle.dumps((FIT, Hostile()))
    path.write_bytes(magic + body + hashlib.sha256(body).digest())
    with pytest.warns(CheckpointWarning, match="damaged"):
        assert Checkpoint(path, FIT).load() is None
    assert not hasattr(sys.modules["ratewise"], "hacked")


def test_arrays_come_back_whole_and_can_be_written_to(path):
    arrays = {"a": np.arange(5.0), "b": np.zeros((0, 2), dtype=np.float32), "c": np.asfortranarray(np.eye(3, 4))}
    Checkpoint(path, FIT).save(arrays)
    found = Checkpoint(path, FIT).load()
    assert all(found[name].tobytes() == arrays[name].tobytes() for name in arrays)
    assert found["c"].flags.f_contiguous
    found["a"][0] = 7.0


def test_only_its_owner_can_read_a_checkpoint(path):
    Checkpoint(path, FIT).save("first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("which", ["fit.checkpoint", "fit.checkpoint.before"])
def test_the_checkpoint_of_another_user_is_refused(path, which, monkeypatch):
    kept = Checkpoint(path, FIT)
    kept.save("first")
    kept.save("second")
    if which.endswith("before"):
        path.unlink()
    monkeypatch.setattr(os, "geteuid", lambda: path.parent.stat().st_uid + 1)
    with pytest.raises(ValueError, match=rf"{which} belongs to another user.*name another file"):
        Checkpoint(path, FIT)


@pytest.mark.parametrize("name", ["fit.checkpoint", "fit.checkpoint.before"])
def test_a_file_that_is_no_checkpoint_is_refused_and_never_removed(path, name):
    other = path.with_name(name)
    other.write_text("label,age\n1,2\n")
    with pytest.raises(ValueError, match=f"{name} exists and is not a checkpoint of ratewise"):
        Checkpoint(path, FIT)
    remove_checkpoint(path)
    assert other.read_text() == "label,age\n1,2\n"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero here")
def test_a_device_is_no_place_for_a_checkpoint():
    with pytest.raises(ValueError, match="/dev/zero is not a regular file"):
        Checkpoint("/dev/zero", FIT)


def test_rows_that_have_changed_begin_anew_and_are_named(path):
    Checkpoint(path, FIT, {"a.csv": 1, "b.csv": 2}).save("first")
    with pytest.warns(CheckpointWarning, match=r"starts again: the rows have changed since \(b\.csv\)"):
        assert Checkpoint(path, FIT, {"a.csv": 1, "b.csv": 3}).load() is None
    assert Checkpoint(path, FIT, {"a.csv": 1, "b.csv": 2}).load() == "first"


def test_another_version_begins_anew(path, monkeypatch):
    Checkpoint(path, FIT).save("first")
    monkeypatch.setattr("ratewise.training.checkpoint.__version__", "9.9")
    with pytest.warns(CheckpointWarning, match=r"starts again: it was written by ratewise .*, and this is 9\.9"):
        assert Checkpoint(path, FIT).load() is None


def test_what_is_kept_is_found_under_either_name(path):
    assert kept_checkpoint(path) is None
    Checkpoint(path, FIT).save("first")
    assert kept_checkpoint(path) == path
    before = path.with_name("fit.checkpoint.before")
    path.replace(before)
    assert kept_checkpoint(path) == before


def _remove_in_another_process(path):
    process = multiprocessing.get_context("spawn").Process(target=remove_checkpoint, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_what_another_process_is_writing_is_not_removed(path):
    Checkpoint(path, FIT).save("first")
    with atomic_write(path) as file:
        file.write(b"ratewise checkpoint 2\n")
        file.flush()
        _remove_in_another_process(path)
        assert len(list(path.parent.iterdir())) == 1
    assert path.read_bytes() == b"ratewise checkpoint 2\n"


def test_two_equal_fits_may_save_and_remove_at_once(path):
    first, second = Checkpoint(path, FIT), Checkpoint(path, FIT)
    first.save("a")
    second.save("b")
    remove_checkpoint(path)
    first.save("c")
    assert second.load() == "c"


def test_a_fit_that_goes_on_keeps_what_it_went_on_from_as_the_one_before(path):
    Checkpoint(path, FIT).save("first")
    resumed = Checkpoint(path, FIT)
    assert resumed.load() == "first"
    resumed.save("second")
    truncate(path)
    with pytest.warns(CheckpointWarning, match="damaged"):
        assert Checkpoint(path, FIT).load() == "first"


@pytest.mark.parametrize("place", [0, 10_000, 99_000, 199_999])
def test_a_file_of_the_same_size_and_time_is_told_by_its_content_from_end_to_end(tmp_path, place):
    file = tmp_path / "rows.csv"
    content = bytearray(np.random.default_rng(0).bytes(200_000))
    found = []
    for _ in range(2):
        file.write_bytes(bytes(content))
        os.utime(file, ns=(0, 12345))
        found += list(facts_of_files([str(file)]))
        content[place] ^= 1
    assert found[0][0] == str(file)
    assert found[0][1].startswith("200000 bytes, 12345, ")
    assert found[0] != found[1]
    os.utime(file, ns=(0, 12346))
    assert next(facts_of_files([str(file)])) != found[1]
