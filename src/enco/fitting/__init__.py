"""Algorithm 1 of the paper. Start reading in `loop`."""
