"""The paper's comparison as a harness: data sets x methods x figures x claims.

Run it with ``make reproduce``, or ``python benchmarks/paper --help``. To add

- a data set: a subclass of :class:`~paper.base.DataSet`, and its line in ``DATA_SETS`` (datasets.py);
- a method: a subclass of :class:`~paper.base.Method`, and its line in ``METHODS`` (methods/__init__.py);
- a figure: a subclass of :class:`~paper.base.Figure`, and its line in ``FIGURES`` (figures/__init__.py);
- a claim: a function from results to a verdict, and its line in ``CLAIMS`` (claims.py);
- a theorem: a subclass of :class:`~paper.theorems.Panel`, and its line in ``PANELS`` (theorems.py).

Each may stand in a file of its own. A data set loads rows, a method learns from them and records models with the
CPU seconds each took, a figure requests the runs it shows and draws them, a claim is judged by all runs. Results
are rows of a CSV file; what it holds is not run again. library.py has all that is used of ratewise's private
modules.
"""
