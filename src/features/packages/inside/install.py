"""Makes a Python environment: a virtual environment that sees the packages of the system, filled by pip.

It runs in the sandbox, as the user. What to do comes as JSON on stdin. What pip prints goes to stdout; the last line says
how it ended. Nobody believes it: whoever started this looks at what is there.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Of the network where it has its own.
CERTIFICATES = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"
# With what is there already as a limit, there may be no solution where there is one without.
CONFLICT = re.compile(r"ResolutionImpossible|conflicting dependencies|No matching distribution found|constraint")
SOURCE_ONLY = re.compile(r"No sources permitted for ([A-Za-z0-9._-]{1,100})")
# A page that there is not says that there is no such package, and nothing else.
UNREACHED = re.compile(r"Could not fetch URL \S+: (?!404)(.{1,300})|HTTP error (?!404)(\d+) while getting")
MOST_LOG = 64 * 1024 * 1024


def main():
    task = json.load(sys.stdin)
    root = os.environ["WORKCRATE_PACKAGES"]
    environment = "%s/python/%s" % (root, task["environment"])
    for needed in ("venv", "pip"):
        if importlib.util.find_spec(needed) is None:
            return end(problem="no-" + needed)
    scratch = "%s/cache/scratch-%s" % (root, task["environment"])
    os.mkdir(scratch)
    try:
        make_environment(environment)
        end(**install(task, environment, root + "/cache/pip", scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def end(**facts):
    print("\nworkcrate: " + json.dumps(facts), flush=True)


def make_environment(environment):
    import venv

    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(environment)
    if sys.prefix != sys.base_prefix:
        # Runs use a virtual environment of the operator's, whose packages are to be seen too.
        own = [path for path in sys.path if path.startswith(sys.prefix) and path.endswith("-packages")]
        with open(get_packages(environment) + "/workcrate-system.pth", "w") as file:
            file.write("\n".join(own) + "\n")


def get_packages(environment):
    return "%s/lib/python%d.%d/site-packages" % (environment, *sys.version_info[:2])


def install(task, environment, cache, scratch):
    log = scratch + "/log"
    constraints = [task["pins"] + task["known"], task["pins"]] if task["known"] else [task["pins"]]
    for limits in constraints:
        # What was printed before does not count any more.
        end(begun=True)
        status, output = run_pip(task, environment, cache, scratch, limits)
        if status == 0:
            return {"done": True}
        if not CONFLICT.search(output):
            break
    return {"problem": "failed", "status": status, **read_log(log)}


def run_pip(task, environment, cache, scratch, limits):
    with open(scratch + "/limits", "w") as file:
        file.write("".join(limit + "\n" for limit in limits))
    proxy = os.environ.get("http_proxy") or os.environ.get("HTTP_PROXY")
    command = [environment + "/bin/python3", "-m", "pip", "--isolated", "--no-input", "--no-color"]
    command += ["--disable-pip-version-check", "--timeout", "20", "--retries", "2", "--cache-dir", cache]
    command += ["--log", scratch + "/log"]
    command += ["--proxy", proxy] if proxy else []
    command += ["--cert", CERTIFICATES] if os.path.exists(CERTIFICATES) else []
    for host in task["plainHosts"]:
        command += ["--trusted-host", host]
    command += ["install", "--no-warn-script-location", "--progress-bar", "off", "-c", scratch + "/limits"]
    command += [] if task["allowsSource"] else ["--only-binary", ":all:"]
    # With credentials, which no other sandbox of the user may see: not on the command line, and in no folder but /tmp.
    with tempfile.NamedTemporaryFile("w", prefix="indexes-") as indexes:
        indexes.write("--index-url %s\n" % task["indexes"][0])
        indexes.writelines("--extra-index-url %s\n" % index for index in task["indexes"][1:])
        indexes.flush()
        return follow(command + ["-r", indexes.name, "--"] + task["specs"], scratch)


def follow(command, scratch):
    variables = dict(os.environ, PIP_CONFIG_FILE=os.devnull, PYTHONNOUSERSITE="1", TMPDIR=scratch)
    running = subprocess.Popen(
        command, cwd="/", env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    kept = []
    for line in running.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
        kept = kept[-200:] + [line]
    return running.wait(), b"".join(kept).decode("utf-8", "replace")


def read_log(log):
    """What pip says in its log alone: of which packages there are only sources, and what a registry has answered."""
    try:
        with open(log, errors="replace") as file:
            text = file.read(MOST_LOG)
    except OSError:
        return {}
    unreached = UNREACHED.search(text)
    return {
        "sourceOnly": sorted(set(SOURCE_ONLY.findall(text)))[:20],
        "unreached": unreached and (unreached[1] or "HTTP error " + unreached[2]),
    }


main()
