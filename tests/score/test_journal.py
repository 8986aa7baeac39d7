"""The journal: answers come back in their order, damage costs only what came after it, no stage starts over."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from enco.discover import conclude
from enco.errors import EncoError
from enco.fitting.loop import Discovery
from enco.score.journal import FileJournal
from enco.settings import Settings
from search_problems import small_data

QUICK = Settings(max_epochs=2, first_fit_steps=60, fit_steps=30, graph_steps=10, refine_steps=200, hidden=16)


def asked(path, count, identity="a", asker="X1"):
    """Answers to some questions, and how many had to be computed."""
    computed = []

    def compute(number):
        computed.append(number)
        return [np.arange(number), np.array(0.1 * number)]

    with FileJournal(path, identity) as journal:
        answers = [journal.ask(asker, lambda k=k: compute(k)) for k in range(count)]
    return answers, len(computed)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


def test_answers_are_computed_once(path):
    first, computed = asked(path, 5)
    assert computed == 5
    again, computed = asked(path, 8)
    assert computed == 3
    for one, other in zip(first, again, strict=False):
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


def test_askers_do_not_share_answers(path):
    asked(path, 2, asker="X1")
    assert asked(path, 2, asker="X2")[1] == 2
    assert asked(path, 2, asker="X1")[1] == 0


def test_answers_of_another_fit_are_dropped(path):
    asked(path, 3)
    assert asked(path, 3, identity="b")[1] == 3
    assert asked(path, 3, identity="a")[1] == 3


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.99])
def test_a_torn_end_costs_only_what_it_held(path, kept):
    asked(path, 10)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    assert 0 < asked(path, 10)[1] <= 10
    assert asked(path, 10)[1] == 0
    assert path.read_bytes() == whole


@pytest.mark.parametrize("place", [3, 40, 400, -30])
def test_a_damaged_byte_ends_the_file(path, place):
    asked(path, 10)
    whole = bytearray(path.read_bytes())
    whole[place] ^= 0x55
    path.write_bytes(whole)
    assert asked(path, 10)[1] > 0
    assert asked(path, 10)[1] == 0


def test_a_link_is_not_followed(path, tmp_path):
    other = tmp_path / "precious"
    other.write_text("mine")
    path.symlink_to(other)
    assert asked(path, 3)[1] == 3
    assert other.read_text() == "mine"
    assert not path.is_symlink()


def test_a_folder_in_its_place_is_named(path):
    path.mkdir()
    with pytest.raises(EncoError, match="journal"):
        asked(path, 1)


class InterruptedStageError(Exception):
    pass


class Stopping(FileJournal):
    """A journal that stops the stage before one of its answers."""

    left = 10**9

    def _count(self):
        self.left -= 1
        if self.left < 0:
            raise InterruptedStageError

    def ask(self, asker, compute):
        def counted():
            self._count()
            return compute()

        return super().ask(asker, counted)

    def train(self, asker, model, fit):
        def counted():
            self._count()
            fit()

        super().train(asker, model, counted)


def result_of(path, kind, latent, left, n_jobs=1):
    discovery = Discovery(small_data(kind), settings=Settings(**{**vars(QUICK), "latent": latent}), n_jobs=n_jobs)
    discovery.run()
    with Stopping(path, "a") as journal:
        journal.left = left
        result = conclude(discovery, small_data(kind), journal=journal)
        return result, left - journal.left


@pytest.mark.parametrize("latent", [False, True])
@pytest.mark.parametrize("kind", ["categorical", "continuous", "mixed"])
def test_a_stage_that_is_stopped_again_and_again_ends_with_the_same_bits(tmp_path, kind, latent):
    whole, asked_for = result_of(tmp_path / "whole", kind, latent, 10**9)
    step, total = max(1, asked_for // 5), 0
    for attempt in range(20):
        try:
            result, computed = result_of(tmp_path / "parts", kind, latent, step, n_jobs=1 + attempt % 2)
            break
        except InterruptedStageError:
            total += step
    # Nothing is computed twice, but for what another thread was at when the stage was stopped.
    assert asked_for <= total + computed <= asked_for + attempt // 2 + 1
    assert result.order_report == whole.order_report
    assert np.array_equal(result.adjacency, whole.adjacency)
    assert latent == (result.confounder_scores is not None)
    if latent:
        assert np.array_equal(result.confounder_scores, whole.confounder_scores, equal_nan=True)


def test_a_journal_that_was_used_up_goes_on(tmp_path):
    """What was known before an interruption and what came after it are one sequence."""
    result_of(tmp_path / "a", "continuous", False, 10**9)
    before = (tmp_path / "a").read_bytes()
    result_of(tmp_path / "a", "continuous", False, 0)
    assert (tmp_path / "a").read_bytes() == before


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_killed_process_leaves_whole_records(tmp_path):
    script = (
        "import sys, numpy as np; from enco.score.journal import FileJournal\n"
        "journal, k = FileJournal(sys.argv[1], 'a'), 0\n"
        "while True:\n"
        "    journal.ask('X1', lambda: [np.full(1000, k), np.array(0.1 * k)]); k += 1; print(k, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "journal")], stdout=subprocess.PIPE)
    for _ in range(50):
        child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert asked(tmp_path / "journal", 50)[1] == 0
