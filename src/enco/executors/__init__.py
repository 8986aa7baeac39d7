"""Who runs independent tasks: threads of this process."""

from enco.executors.threads import count_threads, run_threads

__all__ = ["count_threads", "run_threads"]
