"""A reader test: what a newcomer asks of the first pages, and the words there that answer.

The questions are those of three people who tried the library: an analyst with CSV files, a data scientist with
boosters, and a researcher.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

ANSWERS = {
    "README.md": {
        "What is it for?": "If your classes are imbalanced",
        "How do I install it?": 'pip install ".[cli]"',
        "What do I type first?": 'ratewise.MeasureClassifier("f1", basis="auto"',
        "How much better is it?": "| gain |",
        "When do I not need it?": "## When not to use it",
    },
    "docs/index.md": {
        "What is it for?": "If your classes are imbalanced",
        "How do I install it?": 'pip install ".[cli]"',
        "What do I type first?": 'ratewise.MeasureClassifier("f1", basis="auto"',
        "How much better is it?": "figures/gains.png",
        "Where do I go next?": "## Where to go",
    },
    "docs/first-model.md": {
        "What will I have at the end?": "a page that a colleague can open",
        "Which class is positive?": "`pos_label` names the positive class",
        "What does score return?": "`score` returns the measure",
        "Is it better than what I do now?": "## Compare",
        "How do I keep the model?": "save_model(classifier",
    },
    "docs/fraud-from-files.md": {
        "Must the data fit in memory?": "do not fit in memory",
        "Which files can it read?": "CSV, Feather, svmlight, npy and npz",
        "What if the fit is killed?": "If the process is killed",
        "Can I bound the share of false alarms?": "RecallAtPrecision(0.5)",
        "How do I score a new day?": "ratewise predict fraud.skops",
    },
    "docs/any-model.md": {
        "Which classifiers can I use?": "any classifier that takes\nsample weights",
        "Where do I put it?": "where you would use `TunedThresholdClassifierCV`",
        "What does it do to my classifier?": "## What it does",
        "What if mine is gradient boosting?": "[Gradient boosting](boosting.md)",
        "Can I deploy the result?": "[Deploy a model](deploy.md)",
    },
    "docs/many-classes.md": {
        "What does f1 mean with ten classes?": "macro F1",
        "Which measures are there?": "### Which measure",
        "What if an error costs more than another?": "ClassCosts(costs)",
        "Does it work from files?": "### Files and clusters",
        "What if a row has several labels?": "## Many labels",
    },
    "docs/decisions.md": {
        "What do I pass to it?": "out-of-fold probabilities",
        "Why not training rows?": "On training\nrows the probabilities are too confident",
        "Which measures can it maximize?": "measure names of many classes",
        "What does it gain?": "## How much better?",
        "Can it leave hard rows to a person?": "reject=0.1",
    },
    "docs/costs.md": {
        "When do I need costs per row?": "A missed fraud costs its amount",
        "In what form do I give them?": "`costs` is one of these",
        "What if all rows cost the same?": "CostMatrix",
        "What did it save?": "## What was saved",
        "Must my probabilities be right?": "So `DecisionRule` calibrates them",
    },
    "docs/alert-budgets.md": {
        "What is a budget?": "a share of **all** rows",
        "What do I type?": "RecallAtAlertRate(0.02)",
        "Does it hold on new rows?": "## What is promised",
        "Can I maximize F1 within it?": "## A budget and another measure",
        "How often was it kept?": "## How often it holds",
    },
    "docs/fairness.md": {
        "Which kinds of fairness are there?": "equal opportunity",
        "Where do I give the groups?": "sensitive_features=sex_train",
        "Does it hold on new rows?": "promises the bound for new rows",
        "What if I do not know the group later?": "group_cuts=False",
        "How does it compare with fairlearn?": "## Compared with fairlearn",
    },
    "docs/streams-that-drift.md": {
        "How do I learn as rows arrive?": "`partial_fit` learns",
        "How fast does it forget?": "## How fast it forgets",
        "What if labels come late?": "## Labels that come late",
        "Can I stop and resume?": "## Stop and resume",
        "What does it cost without drift?": "## What it costs",
    },
}


@pytest.mark.parametrize("page", ANSWERS)
def test_a_page_answers_what_newcomers_ask(page):
    text = re.sub(r"\s+", " ", (ROOT / page).read_text("utf-8"))
    missing = [question for question, words in ANSWERS[page].items() if re.sub(r"\s+", " ", words) not in text]
    assert missing == []


def test_every_tutorial_is_asked():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    tutorials = re.findall(r"[\w-]+\.md", nav[nav.index("- Tutorials:") : nav.index("- How-to:")])
    assert {f"docs/{name}" for name in tutorials} <= set(ANSWERS)


def test_install_line_and_code_are_near_the_top():
    for page in ("README.md", "docs/index.md"):
        top = "\n".join((ROOT / page).read_text("utf-8").splitlines()[:45])
        assert 'pip install ".[cli]"' in top
        assert "MeasureClassifier" in top
