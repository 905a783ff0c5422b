"""The cache: what was paid for is found again; files of others, damage and locks end in clear errors."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from deconfound.endpoints.cache_writer import CacheWriter
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.errors import UsageError

REPLY = Reply("Grüße 😀\0\n", "truncated", "length", "small-1", 3, 4, tokens_estimated=True, seconds=0.5)


def keys(count, start=0):
    return [number.to_bytes(20, "big") for number in range(start, start + count)]


def fill(path, count, start=0):
    with ReplyCache(path) as cache:
        cache.put([(key, REPLY) for key in keys(count, start)])


def use(path):
    with ReplyCache(path) as cache:
        cache.find(keys(2_000))
        cache.known(keys(2_000))


def test_a_reply_comes_back_as_it_was(tmp_path):
    fill(tmp_path / "c", 3)
    with ReplyCache(tmp_path / "c") as cache:
        assert cache.find(keys(5)) == dict.fromkeys(keys(3), REPLY)
        assert cache.known(keys(5)) == set(keys(3))
        assert cache.known(keys(1, start=2)) == set(keys(1, start=2))
        assert len(cache) == 3


def test_of_two_replies_the_first_stays(tmp_path):
    """A table that was written and one that is written later must agree."""
    fill(tmp_path / "c", 1)
    with ReplyCache(tmp_path / "c") as cache:
        cache.put([(keys(1)[0], replace(REPLY, text="another"))])
        assert cache.find(keys(1))[keys(1)[0]].text == REPLY.text


def test_more_keys_than_fit_into_one_statement(tmp_path):
    fill(tmp_path / "c", 20_000)
    with ReplyCache(tmp_path / "c") as cache:
        assert len(cache.find(keys(3_000, start=500))) == 3_000
        assert len(cache.known(keys(3_000, start=18_000))) == 2_000


def foreign(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE mine (a)")
    database.close()


def newer(path):
    fill(path, 1)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def forged(path):
    fill(path, 1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE replies SET status = 'wonderful'")
    database.close()


def timeless(path):
    fill(path, 1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE replies SET seconds = 9e999")
    database.close()


def undecodable(path):
    fill(path, 1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE replies SET text = CAST(X'FF41' AS TEXT)")
    database.close()


def computed(path):
    """A view in place of the table: reading it would never end."""
    fill(path, 1)
    with sqlite3.connect(path) as database:
        names = [name for _, name, *_ in database.execute("PRAGMA table_info(replies)")]
        database.execute("DROP TABLE replies")
        endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i FROM n) SELECT"
        columns = ", ".join(f"i AS {name}" for name in names)
        database.execute(f"CREATE VIEW replies AS {endless} {columns} FROM n")
    database.close()


def damaged(path):
    fill(path, 2_000)
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 1000):
        data[at] ^= 0xFF
    path.write_bytes(data)


def cut(path):
    fill(path, 2_000)
    path.write_bytes(path.read_bytes()[:10_000])


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda path: path.write_text("hello, I am a text of some length. " * 50), "is not a cache of deconfound"),
        (lambda path: path.write_bytes(b"PAR1" + bytes(5000)), "is not a cache of deconfound"),
        (foreign, "is a database of another program"),
        (newer, "has version 99"),
        (forged, "has a row that deconfound did not write"),
        (timeless, "has a row that deconfound did not write"),
        (undecodable, "has a row that deconfound did not write"),
        (computed, "has other tables than deconfound writes"),
        (damaged, "is damaged"),
        (cut, "is damaged"),
        (lambda path: path.mkdir(), "is not an ordinary file"),
        (os.mkfifo, "is not an ordinary file"),
    ],
)
def test_files_that_are_no_cache_are_refused_and_not_changed(tmp_path, make, what):
    path = tmp_path / "c"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(UsageError, match=what) as caught:
        use(path)
    assert "--cache" in str(caught.value)
    assert before is None or path.read_bytes() == before


def test_an_empty_file_becomes_a_cache(tmp_path):
    (tmp_path / "c").touch()
    fill(tmp_path / "c", 1)


def test_no_folder(tmp_path):
    with pytest.raises(UsageError, match="there is no folder"):
        ReplyCache(tmp_path / "absent" / "c")


def test_a_file_without_permission(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may do everything")
    fill(tmp_path / "c", 1)
    (tmp_path / "c").chmod(0)
    with pytest.raises(UsageError, match="cannot be used"):
        ReplyCache(tmp_path / "c")


def test_a_file_that_another_program_has_locked(tmp_path, monkeypatch):
    monkeypatch.setattr("deconfound.endpoints.reply_cache.BUSY_SECONDS", 0.05)
    fill(tmp_path / "c", 1)
    other = sqlite3.connect(tmp_path / "c", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with ReplyCache(tmp_path / "c") as cache, pytest.raises(UsageError, match="is locked by another program"):
        cache.put([(keys(1, 9)[0], REPLY)])
    other.close()


def test_one_process_at_a_time_asks(tmp_path):
    """Two would pay for the same outputs."""
    fill(tmp_path / "c", 1)
    with ReplyCache(tmp_path / "c") as cache, ReplyCache(tmp_path / "c") as other, cache.locked("replay"):
        with pytest.raises(UsageError, match=f"is in use by another replay .process {os.getpid()}.*--cache"):
            other.locked("replay").__enter__()
        assert other.known(keys(1)) == set(keys(1))
    with ReplyCache(tmp_path / "c") as cache, cache.locked("replay"):
        pass


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = f"""
from pathlib import Path
from deconfound.endpoints.reply_cache import ReplyCache
import threading
import time
with ReplyCache(Path({str(tmp_path / "c")!r})) as cache, cache.locked("replay"):
    print("locked", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    with ReplyCache(tmp_path / "c") as cache, cache.locked("replay"):
        pass


def test_several_processes_write_into_one_file(tmp_path):
    """Even without the lock, as by two versions of the package, nothing is lost or damaged."""
    code = """
import sys
from tests.endpoints.test_reply_cache import REPLY, keys
from deconfound.endpoints.reply_cache import ReplyCache
from pathlib import Path
with ReplyCache(Path(sys.argv[1])) as cache:
    for key in keys(200, int(sys.argv[2])):
        cache.put([(key, REPLY)])
"""
    starts = (0, 100, 200)
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "c"), str(start)]) for start in starts]
    assert [process.wait() for process in processes] == [0, 0, 0]
    with ReplyCache(tmp_path / "c") as cache:
        assert cache.known(keys(400)) == set(keys(400))


def test_the_writer_stores_everything_before_it_closes(tmp_path):
    with ReplyCache(tmp_path / "c") as cache:
        writer = CacheWriter(cache)
        for key in keys(500):
            writer.put(key, REPLY)
        writer.close()
        assert len(cache) == 500


def test_the_writer_stores_what_comes_later_too(tmp_path):
    with ReplyCache(tmp_path / "c") as cache:
        writer = CacheWriter(cache)
        for key in keys(5):
            writer.put(key, REPLY)
            time.sleep(0.03)
        assert len(cache) >= 3  # not only when it closes
        writer.close()
        assert len(cache) == 5


class FullDisk:
    """A cache whose file cannot grow."""

    def __init__(self, path):
        self.path = path

    def another(self):
        cache = ReplyCache(self.path)
        cache._database.execute("PRAGMA max_page_count = 4")
        return cache


def test_a_full_disk_is_reported_and_what_was_stored_stays(tmp_path):
    fill(tmp_path / "c", 10)
    writer = CacheWriter(FullDisk(tmp_path / "c"))

    def put_many():
        for key in keys(10_000, start=100):
            writer.put(key, replace(REPLY, text="x" * 5000))
            time.sleep(0.001)

    with pytest.raises(UsageError, match="is full; what was answered so far is stored"):
        put_many()
    with pytest.raises(UsageError, match="is full"):
        writer.close()
    with ReplyCache(tmp_path / "c") as cache:
        assert cache.known(keys(10)) == set(keys(10))


class NoFile:
    """A cache that forgets: only the thread matters."""

    def another(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def put(self, replies):
        pass


def test_a_writer_can_always_be_closed():
    """Between the last reply and the end there was a moment in which the thread would have waited for ever."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(1_000):
            writer = CacheWriter(NoFile())
            writer.put(b"", REPLY)
            closing = threading.Thread(target=writer.close, daemon=True)
            closing.start()
            closing.join(timeout=20)
            assert not closing.is_alive()
    finally:
        sys.setswitchinterval(interval)
