"""Makes calls, many at once, until every request has a reply in the cache or a failure in the report."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import final

from deconfound.endpoints.cache_writer import CacheWriter
from deconfound.endpoints.clock import Clock, SystemClock
from deconfound.endpoints.endpoint import Endpoint, key_problem
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.http_caller import Caller, HttpCaller, require_client
from deconfound.endpoints.redaction import Redaction
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.request import Request
from deconfound.endpoints.retrying import Gate, call_until_done
from deconfound.endpoints.run_meter import ModelMeter, RunOutcome
from deconfound.errors import UsageError

CONCURRENCY = 8
MAX_CONCURRENCY = 4096
WATCH_SECONDS = 0.2
DRAIN_SECONDS = 0.002
GRACE_SECONDS = 2.0  # after an interrupt, for calls that are under way: their answers will have to be paid for
UNSAVED_PER_CALL = 4  # replies that may wait for a slow disk, times the calls at once; a kill loses them

Watch = Callable[[RunOutcome], None]
"""Called a few times per second, in the thread of the caller, with what is done so far."""


def no_watch(outcome: RunOutcome) -> None:
    """Look away."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How calls are made; ``concurrency`` is the number of calls at once to one endpoint."""

    concurrency: int = CONCURRENCY
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= MAX_CONCURRENCY:
            raise UsageError(f"--concurrency takes a number from 1 to {MAX_CONCURRENCY:,}, not {self.concurrency}.")


Work = Mapping[Endpoint, Iterable[Request]]
"""The requests of each endpoint; no key occurs twice. They are made when they are needed."""


def run_requests(
    work: Work, expected: int, cache: ReplyCache, options: RunOptions, watch: Watch = no_watch
) -> RunOutcome:
    """Call every request and store each reply as soon as it is there; ``expected`` is their number, for the watch.

    Calls run in a thread of their own, so that this also works inside a notebook. An interrupt in this thread starts no
    more of them, waits a moment for those that are under way, and ends them. Whatever was answered is in the cache.
    """
    require_client()
    problems = [problem for endpoint in work if (problem := key_problem(endpoint)) is not None]
    if problems:
        raise UsageError("\n".join(map(str, problems)))
    redaction = Redaction.of_keys(endpoint.key() for endpoint in work)
    run = _Run(
        lambda: HttpCaller(work, redaction, options.clock), work, CacheWriter(cache), options, RunOutcome({}, expected)
    )
    thread = threading.Thread(target=run.run, name="deconfound calls", daemon=True)
    thread.start()
    try:
        while not run.finished.wait(WATCH_SECONDS):
            watch(run.outcome)
        watch(run.outcome)
    except KeyboardInterrupt:
        run.starts_more = False
        run.finished.wait(GRACE_SECONDS)
        raise
    finally:
        run.stop()
        thread.join()
        run.writer.close()
    if run.error is not None:
        raise run.error
    return run.outcome


@final
@dataclass(slots=True)
class _Run:
    open_caller: Callable[[], AbstractAsyncContextManager[Caller]]
    work: Work
    writer: CacheWriter
    options: RunOptions
    outcome: RunOutcome
    finished: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    starts_more: bool = True
    _loop: asyncio.AbstractEventLoop | None = None
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _is_stopping: bool = False

    def run(self) -> None:
        """The thread of the calls."""
        try:
            asyncio.run(self._call_all())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.finished.set()

    def stop(self) -> None:
        """End the calls from another thread."""
        self._is_stopping = True
        if self._loop is not None and not self.finished.is_set():
            with suppress(RuntimeError):  # it has just ended by itself
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _call_all(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self.open_caller() as caller:
            for endpoint, requests in self.work.items():
                shared, gate = iter(requests), Gate()
                count = endpoint.concurrency or self.options.concurrency
                self._tasks += [asyncio.create_task(self._work(shared, caller, gate)) for _ in range(count)]
            if self._is_stopping:
                self._cancel()
            try:
                await asyncio.gather(*self._tasks)
            finally:
                self._cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, requests: Iterator[Request], caller: Caller, gate: Gate) -> None:
        """One call at a time, until nobody has another request; many of these share the requests of an endpoint."""
        models, clock, bound = self.outcome.models, self.options.clock, UNSAVED_PER_CALL * len(self._tasks)
        for request in requests:
            if not self.starts_more:
                return
            meter = models.get(request.chat.name)
            if meter is None:
                meter = models[request.chat.name] = ModelMeter(request.chat)
            if meter.stopped is not None:
                meter.skip()
                self.outcome.failed_keys[request.key] = meter.stopped
                continue
            result = await call_until_done(request, caller, gate, clock)
            meter.add(result)
            if isinstance(result, Failure):
                self.outcome.failed_keys[request.key] = result
            else:
                self.writer.put(request.key, result)
                while self.writer.unsaved > bound:  # a slow disk must not leave many replies unsaved
                    await asyncio.sleep(DRAIN_SECONDS)
