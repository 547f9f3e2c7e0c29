"""Short texts of DataFrames, Series and arrays, of libraries that the code has imported itself."""

import sys

MOST_ROWS = 20
MOST_COLUMNS = 20
WIDTH = 160


def describe_table(value):
    """Text, rows, columns and HTML of a DataFrame or a Series; None of anything else."""
    pandas = sys.modules.get("pandas")
    frame, series = getattr(pandas, "DataFrame", None), getattr(pandas, "Series", None)
    is_frame = isinstance(frame, type) and isinstance(value, frame)
    if not is_frame and not (isinstance(series, type) and isinstance(value, series)):
        return None
    options = (
        "display.max_rows", MOST_ROWS, "display.min_rows", MOST_ROWS, "display.max_columns", MOST_COLUMNS,
        "display.width", WIDTH, "display.max_colwidth", 50, "display.show_dimensions", True, "display.large_repr", "truncate",
    )  # fmt: skip
    with pandas.option_context(*options):
        html = value._repr_html_() if is_frame else None
        return repr(value), len(value), len(value.columns) if is_frame else None, html


def describe_array(value):
    """The text of an array with its shape and type, if it is too long to be shown whole; None of anything else."""
    numpy = sys.modules.get("numpy")
    array = getattr(numpy, "ndarray", None)
    if not isinstance(array, type) or not isinstance(value, array):
        return None
    with numpy.printoptions(threshold=1000, edgeitems=3):
        text = repr(value)
    return "%s\nshape %s, %s" % (text, value.shape, value.dtype) if value.size > 1000 else text
