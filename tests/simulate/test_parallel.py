import threading
import time

import numba
import pytest

from enco.simulate._parallel import ordered_map


@pytest.fixture(params=[1, 2, 4])
def threads(request, monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: request.param)
    return request.param


def test_results_come_in_order(threads):
    def slow_for_early_tasks(task):
        time.sleep(0.01 if task % 3 == 0 else 0.0)
        return task * task

    for count in (0, 1, 2, 3, 20):
        assert list(ordered_map(slow_for_early_tasks, range(count))) == [k * k for k in range(count)]


def test_no_more_than_a_few_results_wait(threads):
    started = []
    results = ordered_map(lambda task: started.append(task), iter(range(1000)))
    next(results)
    time.sleep(0.05)
    assert len(started) <= 2 * threads + 1
    results.close()


def test_errors_arrive_and_threads_end(threads):
    def fail(task):
        if task == 5:
            raise ValueError("task 5")
        return task

    before = threading.active_count()
    with pytest.raises(ValueError, match="task 5"):
        list(ordered_map(fail, range(100)))
    assert threading.active_count() == before
