"""A kernel of Jupyter behind a pipe, for bench/sessions.ts: for each line that is read, does it and prints its milliseconds."""

import sys
import time

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")


def run_cell(code):
    client.execute_interactive(code, output_hook=lambda message: None)


def start_and_stop():
    began = time.perf_counter()
    second, talk = start_new_kernel(kernel_name="python3")
    taken = time.perf_counter() - began
    talk.stop_channels()
    second.shutdown_kernel(now=True)
    return taken


print("ready", flush=True)
for line in sys.stdin:
    if line == "start\n":
        taken = start_and_stop()
    else:
        began = time.perf_counter()
        run_cell(line)
        taken = time.perf_counter() - began
    print(taken * 1000, flush=True)
client.stop_channels()
manager.shutdown_kernel(now=True)
