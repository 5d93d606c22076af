"""Data sets are read as their sources publish them, and say where to get them."""

from __future__ import annotations

import numpy as np
import pytest

from paper.base import MissingData, Problem
from paper.datasets import DATA_SETS, Subsample, get_data_set


def test_a_class_of_an_npz_file_is_the_positive_one(data_folder):
    problem = get_data_set("covtype").load(data_folder)
    assert problem.X.dtype == np.float32
    np.testing.assert_array_equal(problem.positive, np.load(data_folder / "covtype.npz")["y"] == 5)


def test_an_npz_file_without_labels_is_refused_with_its_name(tmp_path):
    np.savez(tmp_path / "ijcnn1.npz", X=np.zeros((3, 22)))
    with pytest.raises(ValueError, match=r"ijcnn1\.npz.*array y"):
        get_data_set("ijcnn1").load(tmp_path)


@pytest.mark.parametrize("name", ["ijcnn1", "kddcup08", "ppi", "protein_homo"])
def test_a_data_set_that_is_not_there_says_where_to_get_it(name, tmp_path):
    with pytest.raises(MissingData, match=rf"{name}: not in the folder.*www\."):
        get_data_set(name).load(tmp_path)


def no_network(*args, **kwargs):
    raise OSError("no network")


@pytest.mark.parametrize(
    ("name", "fetcher"),
    [("covtype", "fetch_covtype"), ("mnist", "fetch_openml"), ("creditcard", "fetch_openml")],
)
def test_a_fetcher_without_a_network_is_a_data_set_that_is_missing(name, fetcher, tmp_path, monkeypatch):
    monkeypatch.setattr(f"sklearn.datasets.{fetcher}", no_network)
    with pytest.raises(MissingData, match=r"no network.*fetch_"):
        get_data_set(name).load(tmp_path)


def test_what_the_folder_lacks_is_asked_of_scikit_learn(monkeypatch):
    X, y = np.ones((4, 54)), np.array([5, 2, 5, 1])
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda **options: (X, y))
    np.testing.assert_array_equal(get_data_set("covtype").load(None).positive, [True, False, True, False])


def test_labels_of_openml_are_text(monkeypatch):
    X = np.zeros((3, 2))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *a, **k: (X, np.array(["'0'", "'1'", "'0'"])))
    np.testing.assert_array_equal(get_data_set("creditcard").load(None).positive, [False, True, False])
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *a, **k: (X, np.array(["8", "1", "0"])))
    np.testing.assert_array_equal(get_data_set("mnist").load(None).positive, [True, False, False])


def test_kddcup08_is_read_from_the_two_files_siemens_gave_out(tmp_path):
    (tmp_path / "Features.txt").write_text("0.5\t1.5\n2.5\t3.5\n4.5\t5.5\n")
    (tmp_path / "Info.txt").write_text("-1\t1\t0\t10\t77\t0\n1\t2\t5\t11\t78\t1\n-1\t3\t0\t11\t78\t1\n")
    problem = get_data_set("kddcup08").load(tmp_path)
    np.testing.assert_array_equal(problem.X, [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]])
    np.testing.assert_array_equal(problem.positive, [False, True, False])
    np.testing.assert_array_equal(problem.block, [77, 78, 78])


def test_kddcup08_files_of_different_length_are_refused(tmp_path):
    (tmp_path / "Features.txt").write_text("0.5 1.5\n2.5 3.5\n")
    (tmp_path / "Info.txt").write_text("-1 1 0 10 77\n")
    with pytest.raises(ValueError, match=r"2 rows and .*1"):
        get_data_set("kddcup08").load(tmp_path)


def test_ppi_takes_its_labels_from_the_files_and_fills_what_is_not_known(tmp_path):
    (tmp_path / "dipsPosPair.feature").write_text("1,-100,1\n")
    (tmp_path / "dipsRandpairSub23w.feature").write_text("-100,4,0\n3,6,0\n")
    problem = get_data_set("ppi").load(tmp_path)
    np.testing.assert_array_equal(problem.X, [[1, 5], [2, 4], [3, 6]])
    np.testing.assert_array_equal(problem.positive, [True, False, False])


def test_protein_homology_is_read_with_its_blocks(tmp_path):
    (tmp_path / "bio_train.dat").write_text("279\t1\t0\t52.0\t32.69\n280\t2\t1\t58.0\t33.33\n")
    problem = get_data_set("protein_homo").load(tmp_path)
    np.testing.assert_array_equal(problem.block, [279, 280])
    np.testing.assert_array_equal(problem.positive, [False, True])
    assert problem.X.shape == (2, 2)


def test_ijcnn1_is_read_from_libsvms_two_files(tmp_path):
    (tmp_path / "ijcnn1").write_text("-1 1:0.5 22:1\n1 2:1\n")
    (tmp_path / "ijcnn1.t").write_text("1 3:1\n")
    problem = get_data_set("ijcnn1").load(tmp_path)
    assert problem.X.shape == (3, 22)
    np.testing.assert_array_equal(problem.positive, [False, True, True])


def test_creditcard_is_read_from_kaggles_file(tmp_path):
    (tmp_path / "creditcard.csv").write_text('"Time","V1","Class"\n0,1.5,"0"\n1,2.5,"1"\n')
    problem = get_data_set("creditcard").load(tmp_path)
    np.testing.assert_array_equal(problem.X, [[0, 1.5], [1, 2.5]])
    np.testing.assert_array_equal(problem.positive, [False, True])


def test_splits_are_70_to_30_with_equal_shares_and_the_first_ones_do_not_depend_on_their_number():
    positive = np.arange(1000) % 10 == 0
    problem = Problem("toy", np.zeros((1000, 1), np.float32), positive)
    (train, test), (other, _) = problem.splits(2)
    assert (train.size, test.size) == (700, 300)
    assert positive[train].sum() == 70
    assert not np.array_equal(np.sort(train), np.sort(other))
    np.testing.assert_array_equal(train, next(iter(problem.splits(5)))[0])


def test_rows_of_one_block_stay_together():
    block = np.repeat(np.arange(20), 5)
    problem = Problem("toy", np.zeros((100, 1), np.float32), block % 2 == 0, block)
    for train, test in problem.splits(3):
        assert not set(block[train]) & set(block[test])


def test_a_subsample_keeps_the_share_of_positives(data_folder):
    whole = get_data_set("ijcnn1")
    part = Subsample(whole, 100).load(data_folder)
    assert part.positive.size == 100
    assert part.positive.mean() == pytest.approx(whole.load(data_folder).positive.mean(), abs=0.01)
    assert Subsample(whole, 10_000).load(data_folder).positive.size == 600


def test_names_are_unique_and_an_unknown_one_is_refused():
    assert len({one.name for one in DATA_SETS}) == len(DATA_SETS)
    with pytest.raises(ValueError, match=r"no data set 'moon'.*ijcnn1"):
        get_data_set("moon")
