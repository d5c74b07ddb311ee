"""The examples in the benchmarks are true."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["criterion", "made", "measure", "plots", "scaling", "stream_memory"]
)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
