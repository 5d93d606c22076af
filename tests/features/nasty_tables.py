"""Tables as people have them, with a kind of trouble each."""

from __future__ import annotations

import datetime

import numpy as np

N = 400
DAYS = [datetime.datetime(2023, 1, 1) + datetime.timedelta(days=i, hours=7 * i, minutes=i) for i in range(N)]
CHINESE = "的一是不了在人有我他这个们"


def some(*values):
    return [values[i % len(values)] for i in range(N)]


def nasty_tables():
    """Tables with a kind of trouble each, as texts of CSV."""
    rng = np.random.default_rng(1)
    i = np.arange(N)
    gap = rng.random(N) < 0.1
    words = np.array(["the", "bread", "was", "stale", "again", "very", "good", "service"])
    return {
        "numbers with gaps": np.where(gap, "?", np.round(rng.normal(size=N), 4).astype(str)),
        "whole numbers with gaps": np.where(gap, "N/A", (i % 50).astype(str)),
        "numbers far from 0": (1e9 + i).astype(np.int64).astype(str),
        "numbers with a strange word": np.where(i == 300, "abc", np.round(rng.normal(size=N), 4).astype(str)),
        "booleans": np.where(gap, "", np.where(i % 3 == 0, "True", "False")),
        "words for booleans": np.where(i % 3 == 0, "yes", "no"),
        "iso dates": np.array([day.strftime("%Y-%m-%d") for day in DAYS]),
        "local times with gaps": np.where(gap, "-", [day.strftime("%d/%m/%Y %H:%M") for day in DAYS]),
        "categories with rare ones": np.where(
            i % 9 == 0, [f"r{k}" for k in i // 50], np.array(some("b", "a", "NA"))
        ),
        "codes": np.array([f"0{k % 7}" for k in i]) + np.where(i % 2, "x", "y"),
        "text": np.array([" ".join(rng.choice(words, 6)) + f" {k}" for k in i]),
        "identifiers": np.array([f"id-{k:04}-{k * 7919 % 1000}" for k in i]),
        "identifiers with gaps": np.where(gap, "", [f"id-{k:04}" for k in i]),
        "words among numbers": np.where(gap, "unknown", np.round(rng.normal(size=N), 3).astype(str)),
        "numbers of a unit": np.array([f"{k / 8} kg" for k in i]),
        "days as numbers with gaps": np.where(gap, "", [day.strftime("%Y%m%d") for day in DAYS]),
        "times of day": np.array([day.strftime("%H:%M:%S") for day in DAYS]),
        "text without spaces": np.array(["".join(rng.choice(list(CHINESE), 7)) for k in i]),
        "constant with gaps": np.where(gap, "", "x"),
        "empty": np.full(N, ""),
    }


TAKEN_FOR = {
    "numbers with gaps": "number",
    "whole numbers with gaps": "number",
    "numbers far from 0": "number",
    "numbers with a strange word": "number",
    "booleans": "boolean",
    "words for booleans": "boolean",
    "iso dates": "date",
    "local times with gaps": "date",
    "categories with rare ones": "category",
    "codes": "category",
    "text": "text",
    "identifiers": "left out",
    "identifiers with gaps": "category",
    "words among numbers": "number",
    "numbers of a unit": "number",
    "days as numbers with gaps": "date",
    "times of day": "date",
    "text without spaces": "text",
    "constant with gaps": "category",
    "empty": "number",
}


def refused_tables():
    """Tables that nobody can read without a word from the user."""
    i = np.arange(N)
    return {
        "decimal commas": np.array([f"{k},5" for k in i]),
        "currency": np.array([f"${k + 1000:,}.20" for k in i]),
        "currency in letters": np.array([f"EUR {k}.20" for k in i]),
        "days and months": np.array([f"{1 + k % 12}/{1 + k % 9}/2023" for k in i]),
        "dates of both orders": np.array([f"{k % 28 + 1}/2/2023" if k % 2 else f"2/{k % 28 + 1}/2023" for k in i]),
        "nothing but identifiers": np.array([f"id-{k:04}" for k in i]),
        "an infinite number": np.where(i == 300, "inf", np.round(i * 0.37, 2).astype(str)),
    }
