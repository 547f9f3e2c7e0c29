"""Starts a Python run or a session where there is no fork server: the task comes on descriptor 3, reports go to 4."""

from workcrate_inside.python import run_python

run_python(3)
