"""Sphinx configuration: Markdown pages, numpydoc docstrings, warnings are errors (see the Makefile)."""

from enco import __version__

project = "enco"
author = "The enco developers"
copyright = "2026, The enco developers"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False}
numpydoc_show_class_members = False
myst_heading_anchors = 3
