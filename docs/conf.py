"""Configuration of the site."""

import re
import shutil
import sys
from pathlib import Path

import neurosim

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "neurosim"
author = "The neurosim developers"
copyright = author
version = release = neurosim.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "myst_nb",  # brings myst_parser
    "markdown_docstrings",
]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]
templates_path = ["_templates"]
# Runs of a notebook take longer than a build should: they are committed executed.
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_member_order = "bysource"
# Shapes and units are in the docstrings, in words; signatures with both are hard to read.
autodoc_typehints = "none"
# Longer ones have a line for each argument.
maximum_signature_line_length = 88

html_theme = "pydata_sphinx_theme"
html_title = "neurosim"
html_static_path = ["_static"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Notebooks live at the root of the repository, where people look for them; Sphinx reads only what
# lies below this folder.
tutorials = HERE / "tutorials"
tutorials.mkdir(exist_ok=True)
for stale in tutorials.glob("*.ipynb"):
    if not (HERE.parent / "notebooks" / stale.name).exists():
        stale.unlink()
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    copy = tutorials / notebook.name
    if not copy.exists() or copy.read_bytes() != notebook.read_bytes():
        shutil.copyfile(notebook, copy)


def keep_to_the_package(app, what, name, obj, skip, options):
    """Leave out what a class holds but has not written: a jax function, the fields of a tuple."""
    origin = getattr(obj, "__module__", None)
    foreign = callable(obj) and origin is not None and not origin.startswith("neurosim")
    return True if foreign or type(obj).__name__ == "_tuplegetter" else None


def name_functions(app, what, name, obj, options, signature, annotation):
    """Show a function that is a default by its name alone."""
    shown = re.sub(r"<PjitFunction of (<function [^>]*>)>", r"\1", signature or "")
    return (re.sub(r"<function (\w+)[^>]*>", r"\1", shown), annotation) if signature else None


def setup(app):
    """Connect the two."""
    app.connect("autodoc-skip-member", keep_to_the_package)
    app.connect("autodoc-process-signature", name_functions)
