"""Settings of the documentation site, for Sphinx; ``make docs`` builds it."""

import deconfound

project = "deconfound"
author = "the authors of deconfound"
version = release = deconfound.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"deconfound {version}"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
suppress_warnings = ["myst.header"]  # a page may begin its sections at any level
exclude_patterns = ["package-description.md", "held-out", "reproduction"]
