"""A result as one HTML page that opens from disk: the graph to explore, every edge with its evidence, the warnings.

=====================  =================================================================================
`enco.report.page`     start reading here: everything put together, and written
`enco.report.words`    the summary in plain words, and what to be careful about
`enco.report.content`  what the scripts of the page get, as JSON
`enco.report.history_curves`   learning curves as inline SVG
`templates/`           the HTML, its style and its scripts
=====================  =================================================================================
"""

from enco.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
