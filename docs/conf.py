"""How the site is built: ``make docs``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from omvfs import __version__ as release  # noqa: E402

project = "omvfs"
author = "omvfs developers"
copyright = f"2026, {author}"  # noqa: A001 (the name that Sphinx asks for)
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["results/*.md", "results/store"]

# Links of GitHub work here as they do there.
myst_heading_anchors = 4
suppress_warnings = [
    "config.cache",  # the settings of the gallery hold a function
]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_mock_imports = ["pyspark", "dask", "distributed", "pandas"]
# What comes from scikit-learn and Python is told there.
_OTHERS = (
    "BaseEstimator, SelectorMixin, TransformerMixin, _SetOutputMixin, ColumnTransformer, "
    "BaseException, tuple, Generic, object"
)
autodoc_default_options = {
    "members": True,
    "inherited-members": _OTHERS,
    "exclude-members": "get_metadata_routing, set_fit_request, set_partial_fit_request",
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "show_signature": False,
    "min_reported_time": 1_000_000,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = f"omvfs {release}"
html_static_path = ["_static"]
html_css_files = ["omvfs.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # without it the theme complains in the console
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    # The other one shows a text that its name has not.
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "faq": []}


def _within(app, name, source):
    """Let links to files beside this folder lead to the pages that show them."""
    lower = re.compile(r"\]\(\.\./(CHANGELOG|CONTRIBUTING|SECURITY)\.md")
    source[0] = lower.sub(lambda found: f"]({found[1].lower()}.md", source[0])


def setup(app):
    """Connect the above."""
    app.connect("source-read", _within)
