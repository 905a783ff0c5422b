"""A producer that cannot be installed skips its tests, and does not fail them."""

from __future__ import annotations

import pytest

from tests.producers.environments import NotInstalledError, Producer, install

pytestmark = pytest.mark.slow


def test_without_a_package_index_nothing_is_installed(tmp_path, monkeypatch):
    for name in ("PIP_NO_INDEX", "PIP_CONFIG_FILE"):
        monkeypatch.setenv(name, "1")
    producer = Producer("none", ("deconfound-has-no-such-package==1",))
    with pytest.raises(NotInstalledError, match="deconfound-has-no-such-package"):
        install(producer, tmp_path)
    assert not list(tmp_path.rglob("ready"))


def test_the_test_of_a_producer_that_cannot_be_installed_is_skipped(installed, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(pytest.skip.Exception, match="none cannot be installed here"):
        installed(Producer("none", ("deconfound-has-no-such-package==2",)))
