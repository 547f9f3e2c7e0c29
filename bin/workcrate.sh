#!/bin/sh
# What `npx workcrate` and `npm start` run: the launcher, by the first Node on PATH that can be started. npm puts the
# one that comes with this package first, and on a machine that lacks one of its libraries that Node does not start.
# Then the next Node starts the launcher, which says what is missing, to an MCP client too.

file=$0
while [ -L "$file" ]; do
  target=$(readlink "$file")
  case $target in /*) file=$target ;; *) file=$(dirname "$file")/$target ;; esac
done
launcher=$(dirname "$file")/workcrate.js

# A small nursery: a gigabyte that passes through leaves 20 MB less behind (decision 012).
run() {
  node=$1
  shift
  exec "$node" --max-semi-space-size=4 "$launcher" "$@"
}

# Only what is in the folders of PATH counts, with an empty one for the folder that this was started in.
rest=$PATH:
while [ -n "$rest" ]; do
  folder=${rest%%:*}
  rest=${rest#*:}
  node=${folder:-.}/node
  [ -x "$node" ] && [ ! -d "$node" ] || continue
  "$node" --version >/dev/null 2>&1 && run "$node" "$@"
done

# None can be started. The system says why.
run node "$@"
