"""Trials are known by what goes into them, and shards divide them without anybody coordinating."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.core import Serialized
from absentia.experiment.engine import (
    Limits,
    Pool,
    Records,
    Run,
    Trial,
    content_hash,
    declared_versions,
    parse_shard,
    run,
    shard_of,
)

KEY = {"method": "mean", "parameters": {"C": 1.0, "tol": 0.1}, "views": ["a", "b"], "fold": 0, "rate": None}


def test_the_order_of_keys_changes_no_hash():
    turned = {name: KEY[name] for name in reversed(KEY)} | {"parameters": {"tol": 0.1, "C": 1.0}}
    assert list(turned) != list(KEY)
    assert Trial(turned).hash == Trial(KEY).hash
    assert len(Trial(KEY).hash) == 24


def test_a_hash_is_the_same_in_every_process_and_version():
    assert Trial({"a": 1, "b": [None, "ü", 0.1]}).hash == "37fa61b33014d6f1f56630e9"


CHANGES = [
    {"method": "meaN"},
    {"parameters": {"C": 1.0, "tol": np.nextafter(0.1, 1).item()}},
    {"parameters": {"C": "1.0", "tol": 0.1}},
    {"parameters": {"C": 1.0}},
    {"views": ["b", "a"]},
    {"views": ["a b"]},
    {"fold": 1},
    {"fold": False},
    {"rate": 0},
    {"more": None},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_any_changed_value_is_another_trial(change):
    assert Trial(KEY | change).hash != Trial(KEY).hash


def test_a_key_without_a_value_is_another_trial():
    assert (
        len({Trial({k: v for k, v in KEY.items() if k != left}).hash for left in [*KEY, ""]})
        == len(KEY) + 1
    )


def test_what_is_no_number_names_no_trial():
    with pytest.raises(ValueError, match="JSON"):
        _ = Trial({"rate": float("nan")}).hash


# --------------------------------------------------------------------------------------------- content

STATE = Serialized({"kind": "x", "n": 1}, {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(3)})


def with_array(name, array):
    return replace(STATE, arrays=STATE.arrays | {name: array})


def flipped(array, bit):
    raw = bytearray(array.tobytes())
    raw[bit // 8] ^= 1 << bit % 8
    return np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)


@pytest.mark.parametrize("name", ["a", "b"])
def test_content_differs_in_every_bit(name):
    array = STATE.arrays[name]
    hashes = {content_hash(with_array(name, flipped(array, bit))) for bit in range(8 * array.nbytes)}
    assert len(hashes | {content_hash(STATE)}) == 8 * array.nbytes + 1


def test_content_differs_in_shape_type_name_and_tree():
    a, b = STATE.arrays["a"], STATE.arrays["b"]
    others = [
        with_array("a", a.reshape(3, 2)),
        with_array("a", a.view(np.int64)),
        with_array("a", a.astype(">f8")),
        with_array("b", b.astype(np.int32)),
        with_array("c", b),
        replace(STATE, arrays={"a": a}),
        replace(STATE, arrays={"a": a, "c": b}),
        replace(STATE, tree={"kind": "x", "n": 2}),
        replace(STATE, tree={"kind": "x", "n": 1, "m": None}),
    ]
    hashes = {content_hash(other) for other in [STATE, *others]}
    assert len(hashes) == len(others) + 1


def test_content_does_not_differ_in_the_layout_in_memory_or_the_order_of_names():
    a, b = STATE.arrays["a"], STATE.arrays["b"]
    same = replace(STATE, arrays={"b": np.repeat(b, 2)[::2], "a": np.asfortranarray(a)})
    assert content_hash(same) == content_hash(STATE)


# --------------------------------------------------------------------------------------------- results


def record_of(result, folder):
    """What is kept of a trial with this result."""
    trial, records = Trial({"n": 0}), Records(folder)
    run([trial], Run(records, lambda key: result, Limits(), print, print), Pool())
    return records.read(trial.hash)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_results_that_are_no_numbers_are_refused_in_words(value, tmp_path):
    record = record_of({"scores": {"R2": [0.1, value]}}, tmp_path)
    assert (record.status, record.result) == ("failed", {})
    assert "its result holds what is no number" in record.error


def test_other_results_that_cannot_be_kept_are_refused_too(tmp_path):
    loop = {}
    loop["self"] = loop
    for result, error in (
        (loop, "Circular reference"),
        ({"a": np.zeros(2)}, "TypeError"),
        ({"a": np.int64(1)}, "TypeError"),
    ):
        record = record_of(result, tmp_path)
        assert record.status == "failed"
        assert error in record.error
    assert record_of({"a": [1, 2.5, None, "x", True, np.float64(0.5)]}, tmp_path).done


# ---------------------------------------------------------------------------------------------- shards


@pytest.mark.parametrize("count", [1, 2, 3, 16, 300])
def test_shards_are_disjoint_and_complete(count):
    trials = [Trial({"n": n}) for n in range(200)]
    shards = [shard_of(trials, number, count) for number in range(1, count + 1)]
    assert sorted(t.key["n"] for shard in shards for t in shard) == list(range(200))
    sizes = [len(shard) for shard in shards]
    assert max(sizes) <= 200 / count + 6 * (200 / count) ** 0.5  # as even as chance: six deviations


def test_a_shard_keeps_what_it_has_when_trials_are_added():
    few, many = ([Trial({"n": n}) for n in range(size)] for size in (50, 100))
    before, after = (shard_of(trials, 2, 3) for trials in (few, many))
    assert [t for t in after if t.key["n"] < 50] == before


@pytest.mark.parametrize(("text", "numbers"), [("1/1", (1, 1)), ("3/16", (3, 16)), (" 16/16 ", (16, 16))])
def test_shards_are_read(text, numbers):
    assert parse_shard(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/2/3", "1.0/2", "1 / 2", "1/9999999", "1/4\n2"]
)
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(ValueError, match=r"NUMBER/COUNT .* as 3/16, not"):
        parse_shard(text)


def test_versions_are_those_that_classes_declare():
    class Old:
        pass

    class New(Old):
        _version = 2

    assert declared_versions(New, Old, protocol=3) == "New 2, Old 1, protocol 3"
    assert declared_versions() == ""
