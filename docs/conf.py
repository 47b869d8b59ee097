"""The site: ``make docs``.  Nothing is fetched; what is shown is made here, by running it."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
(HERE / "_made").mkdir(exist_ok=True)

import absentia

project = "absentia"
copyright = "the absentia developers"
author = "the absentia developers"
release = version = absentia.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "made_pages",
    "method_pages",
    "llms",
]
exclude_patterns = [
    "_build",
    "reproduction/records",
    "sg_execution_times.rst",
    "howto/_methods.md",
    *(f"gallery/*.{e}" for e in ("ipynb", "py", "json", "zip")),
]

# ------------------------------------------------------------------------------------------------ pages
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600  # a busy machine is no fault of a page
nb_execution_raise_on_error = True
nb_merge_streams = True

# -------------------------------------------------------------------------------------------- reference
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# ---------------------------------------------------------------------------------------------- gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e6,
    "plot_gallery": True,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "made_pages.set_colors"),
    "capture_repr": ("_repr_html_",),  # not of what draws: that is in the picture
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

html_math_renderer = "mathml"

# ------------------------------------------------------------------------------------------------ theme
html_theme = "pydata_sphinx_theme"
html_title = "absentia"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_extra_path = ["_made"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("start/index", "reports", "benchmarks")}  # have no pages below them
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
