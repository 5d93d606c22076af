"""Work in progress on disk: whole or not at all."""

from __future__ import annotations

import warnings

import pytest

from ratewise.training.checkpoint import Checkpoint, remove_checkpoint

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


def replace_by_text(path):
    path.write_text("not a checkpoint at all, but long enough to have a head " * 9)


DAMAGES = [truncate, flip_a_byte, empty, replace_by_text]


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
    with pytest.raises((AttributeError, TypeError)):
        kept.save(lambda: None)  # no function without a name can be pickled
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
