"""What every other part needs and no part of the method is.

========================  ==============================================================================
`system.compilation`      `njit`, with a cache that is never a condition
`system.process_memory`   how much memory this process has used, and how much there is
`system.units`            bytes, seconds and long values for people
========================  ==============================================================================
"""
