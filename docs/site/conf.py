"""Sphinx's configuration: `make docs` builds the pages of the repository into build/site.

The source folder is the repository, so that a link between two files works here, in an editor and
on a code host alike. `generated.py` writes the pages on passes, rules and targets.
"""

import os
import sys
from pathlib import Path

from sphinx.application import Sphinx

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).parent))

import generated
import links
import markup

project = "jxc"
html_title = "jxc"
copyright = "the authors of jxc"
html_show_copyright = False
html_show_sphinx = False
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "benchmarks/*.md"]
exclude_patterns = ["build", ".*", "**/_*", "toolchain", "passes", "lit_tests", "tests"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

smartquotes_action = "D"  # dashes only: quotes are often code
napoleon_use_ivar = True
default_role = "code"
autodoc_default_options = {"members": True, "special-members": "__call__"}
autodoc_type_aliases = {"PipelineLike": "PipelineLike"}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["jxc.css"]
html_extra_path = ["root"]
html_copy_source = False
templates_path = []


def setup(app: Sphinx) -> None:
    """Connect what is made from the code."""
    app.add_lexer("mlir", markup.MlirLexer)
    app.connect("builder-inited", generated.write_pages)
    app.connect("build-finished", links.check_offline)
    app.connect("source-read", generated.link_passes)
    app.connect("autodoc-process-docstring", markup.docstring_to_rst, priority=400)
    app.connect("sphinx-click-process-description", markup.help_to_rst)
    app.connect("sphinx-click-process-options", markup.options_to_rst)
