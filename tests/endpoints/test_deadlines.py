"""Time limits by one task: they end what is too slow, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from deconfound.endpoints.deadlines import Deadlines
from deconfound.endpoints.endpoint import Timeouts

SHORT = Timeouts(1.0, 0.05, 0.2)


def run(work):
    async def main():
        deadlines = Deadlines(0.05)
        deadlines.start()
        try:
            return await work(deadlines)
        finally:
            deadlines.stop()

    return asyncio.run(main())


def test_silence_and_a_trickle_end():
    async def silent(deadlines):
        with deadlines.limit(SHORT):
            await asyncio.sleep(30)

    async def trickle(deadlines):
        with deadlines.limit(SHORT) as deadline:
            for _ in range(1000):
                await asyncio.sleep(0.02)
                deadline.progress()

    for work in (silent, trickle):
        with pytest.raises(TimeoutError):
            run(work)


def test_the_same_task_goes_on_with_other_calls():
    """A worker makes many calls; one that was too slow must not end the next one, or the worker."""

    async def many(deadlines):
        ends = []
        for seconds in (30, 0.0, 30, 0.01):
            try:
                with deadlines.limit(SHORT):
                    await asyncio.sleep(seconds)
                ends.append("done")
            except TimeoutError:
                ends.append("late")
        return ends, asyncio.current_task().cancelling()

    assert run(many) == (["late", "done", "late", "done"], 0)


def test_an_error_that_hides_the_cancellation_is_still_a_timeout():
    async def hiding(deadlines):
        try:
            with deadlines.limit(SHORT):
                try:
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    raise OSError("connection closed") from None
        except TimeoutError:
            return asyncio.current_task().cancelling()

    assert run(hiding) == 0


def test_a_cancellation_by_somebody_else_is_none_of_ours():
    async def cancelled(deadlines):
        async def call():
            with deadlines.limit(Timeouts()):
                await asyncio.sleep(30)

        task = asyncio.create_task(call())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return "ended"

    assert run(cancelled) == "ended"
