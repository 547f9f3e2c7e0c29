#!/bin/sh
# The system's packages that npm does not bring. Called before `npm start` and by `npm test`:
#
#   sh scripts/system-packages.sh node                   what the Node that npm brings needs to start at all
#   sh scripts/system-packages.sh start                  that, and what a sandbox needs
#   sh scripts/system-packages.sh test                   that, and what some tests need
#   sh scripts/system-packages.sh test nginx openssl     of all that, only these commands
#   sh scripts/system-packages.sh science                numpy, pandas and matplotlib for the Python of runs
#
# Where all is there, nothing is run or said. Root on a Debian gets what is missing by apt-get; everybody else is
# told the command. Only a signal, or a Node that still lacks a library, keeps the server from starting.
# WORKCRATE_NO_INSTALL=1 turns it off. All that is said goes to stderr.
set -uf

# command:package, as Debian names it.
needed='bwrap:bubblewrap python3:python3 setpriv:util-linux unshare:util-linux mount:mount'
# Without it code runs, and nobody installs packages for Python.
handy='pip:python3-pip'
wanted='dockerd:docker.io strace:strace ceph-mon:ceph-mon ceph-osd:ceph-osd radosgw:radosgw pg_ctlcluster:postgresql
  nginx:nginx-light prometheus:prometheus sqlite3:sqlite3 openssl:openssl nbformat:python3-nbformat chromium:chromium debootstrap:debootstrap'
# module:package. Where Debian's own records cannot be asked, Python is.
science='numpy:python3-numpy pandas:python3-pandas matplotlib:python3-matplotlib'
# Those that would be started at every boot.
daemons='docker.io ceph-mon ceph-osd radosgw postgresql nginx-light prometheus'

purpose=${1:-start}
[ $# -eq 0 ] || shift
only=" $* "
policy=/usr/sbin/policy-rc.d
child=

main() {
  [ "${WORKCRATE_NO_INSTALL:-}" = 1 ] && return
  [ "$purpose" = science ] && { provide_science; return; }
  provide_node || exit 1
  [ "$purpose" = node ] && return
  [ "$purpose" = start ] && sandbox_is_elsewhere && return
  look_into_sbin
  missing "$needed"
  lacking=$packages
  missing "$handy"
  adding=$packages
  packages=
  [ "$purpose" = test ] && missing "$wanted $science"
  [ -z "$lacking$adding$packages" ] || provide "$lacking" "$packages"
}

# Each time it is tried, Node names one library that it lacks.
provide_node() {
  tries=4
  while find_lacking_library; do
    tries=$((tries - 1))
    if [ "$tries" -gt 0 ] && can_install; then
      announce "$package" 'for Node to start'
      install "$package"
    else
      manager
      case $manager in
        *apt-get*) say "Node cannot start until you install:$manager $package" ;;
        *) say "Node cannot start until you install the package of your system that has $library" ;;
      esac
      return 1
    fi
  done
}

# Sets $library to what a Node lacks, the one that npm brings or the first on PATH, and $package to where Debian has
# it: libgcc_s.so.1 is in libgcc-s1.
find_lacking_library() {
  for node in "${0%/*}/../node_modules/.bin/node" node; do
    command -v "$node" >/dev/null || continue
    case $("$node" --version 2>&1) in
      *'error while loading shared libraries: '*.so.*:*) ;;
      *) continue ;;
    esac
    library=$("$node" --version 2>&1)
    library=${library#*libraries: }
    library=${library%%:*}
    package=${library%%.so.*}${library##*.so.}
    case $package in *_*) package=${package%%_*}-${package#*_} ;; esac
    return 0
  done
  return 1
}

can_install() {
  command -v apt-get >/dev/null && command -v timeout >/dev/null && [ "$(id -u)" = 0 ]
}

sandbox_is_elsewhere() {
  case ${WORKCRATE_SANDBOX:-} in off | docker) ;; *) return 1 ;; esac
}

# Debian leaves sbin off the PATH of ordinary users and of `su`, so it is added beside each bin.
look_into_sbin() {
  IFS=:
  for folder in $PATH; do
    case $folder in */bin) PATH=$PATH:${folder%bin}sbin ;; esac
  done
  unset IFS
}

# Sets $packages to those whose command is not there, each named once.
missing() {
  packages=
  for pair in $1; do
    case $only in '  ' | *" ${pair%%:*} "*) ;; *) continue ;; esac
    is_there "${pair%%:*}" "${pair#*:}" >/dev/null 2>&1 && continue
    case " $packages " in *" ${pair#*:} "*) ;; *) packages="${packages:+$packages }${pair#*:}" ;; esac
  done
}

is_there() {
  case $2 in
    python3-*) ;;
    *) command -v "$1"; return ;;
  esac
  if command -v dpkg-query; then
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$2")" = installed ]
  else
    python3 -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"
  fi
}

provide_science() {
  only='  '
  missing "$science"
  [ -n "$packages" ] || return
  if can_install; then
    announce "$packages" 'for the Python of runs'
    install "$packages"
    missing "$science"
  fi
  manager
  [ -z "$packages" ] || say "the Python of runs lacks libraries until you install:$manager$(names "$packages")"
}

provide() {
  if [ "$(uname -s)" = Darwin ]; then
    say_macos
  elif can_install; then
    install_all "$1" "$2"
  else
    name "$1" "$2"
  fi
}

install_all() {
  if [ -n "$1$adding" ]; then
    announce "$1${1:+${adding:+ }}$adding" 'for code to run in a sandbox with packages'
    install "$1 $adding"
    missing "$handy"
    adding=$packages
    missing "$needed"
    [ -z "$packages" ] || { name "$packages" "$2" 'that failed; ' && return; }
  fi
  left=
  [ -z "$2" ] || install_for_tests "$2"
  name '' "$left"
}

# All together, which is quickest, or else one by one: one that apt-get does not know must not stop the others.
install_for_tests() {
  leave_daemons "$1"
  [ -n "$chosen" ] || return
  forbid_services
  announce "$chosen" 'for the tests that use them'
  if ! install "$chosen"; then
    for package in $chosen; do
      apt 300 install --no-install-recommends --no-remove -y "$package" || left="${left:+$left }$package"
    done
  fi
  allow_services
}

# Where systemd runs, a package would have its daemon started at every boot: that is for its owner to want.
leave_daemons() {
  chosen=
  for package in $1; do
    case " $daemons " in
      *" $package "*) [ -d /run/systemd/system ] && left="${left:+$left }$package" && continue ;;
    esac
    chosen="${chosen:+$chosen }$package"
  done
}

# Before anything is changed: what is run as root, why, and how to have it left out.
announce() {
  say "installing, $2: apt-get install --no-install-recommends $1 (Ctrl-C stops it, WORKCRATE_NO_INSTALL=1 leaves it out)"
}

# The errors of the first try are not shown, since lists that are out of date are no reason to worry anybody.
install() {
  trap 'stop 130' INT
  trap 'stop 143' TERM HUP
  have_lists && apt 300 install --no-install-recommends --no-remove -y $1 2>/dev/null && return
  apt 120 update
  apt 300 install --no-install-recommends --no-remove -y $1
}

have_lists() {
  set +f
  set -- /var/lib/apt/lists/*_Packages*
  set -f
  [ -e "$1" ]
}

# In the background, so that a signal is seen at once and not when apt-get has ended.
apt() {
  seconds=$1
  shift
  earlier=${!-}
  child=starting
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 timeout -k 10 "$seconds" apt-get -q \
    -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1 -o Acquire::http::Timeout=20 "$@" </dev/null >/dev/null &
  child=$!
  wait "$child"
}

# `timeout` leads a group of its own. The whole group is ended, since one that is hit before it knows its child ends alone.
end_group() {
  kill -s TERM -- "-$1" || kill "$1"
  wait "$1"
  left=100
  while kill -0 -- "-$1" && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.1
  done
}

# A signal may come when apt-get runs already and its number has not been noted yet.
stop() {
  trap '' INT TERM HUP
  [ "$child" != starting ] || child=${!-}
  [ "$child" != "${earlier-}" ] || child=
  [ -z "$child" ] || end_group "$child" 2>/dev/null
  exit "$1"
}

# Debian asks this file whether a package may start its daemon. One that is there already is left as it is.
forbid_services() {
  [ -e "$policy" ] && return
  trap allow_services EXIT
  forbidding=1
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
}

allow_services() {
  [ -z "${forbidding:-}" ] || rm -f "$policy"
  forbidding=
}

# Names what a sandbox needs, and what tests need, as this system calls it.
name() {
  manager
  [ -z "$1" ] || say "${3:-}code does not run in a sandbox until you install:$manager$(names "$1")"
  [ -z "$adding" ] || say "Python packages cannot be installed for runs until you install:$manager$(names "$adding")"
  [ -z "$2" ] || say "the tests that use them are skipped until you install:$manager$(names "$2")"
}

manager() {
  become=
  [ "$(id -u)" = 0 ] || become='sudo '
  manager=
  if command -v apt-get >/dev/null; then
    have_lists || manager=" ${become}apt-get update &&"
    manager="$manager ${become}apt-get install --no-install-recommends"
  elif command -v dnf >/dev/null; then manager=" ${become}dnf install"
  elif command -v pacman >/dev/null; then manager=" ${become}pacman -S"
  elif command -v apk >/dev/null; then manager=" ${become}apk add"
  fi
}

names() {
  for package in $1; do
    case $manager:$package in
      *dnf*:docker.io) package=moby-engine ;;
      *pacman*:docker.io | *apk*:docker.io) package=docker ;;
      *pacman*:python3) package=python ;;
      *pacman*:python3-pip) package=python-pip ;;
      *apk*:python3-pip) package=py3-pip ;;
      *dnf*:radosgw) package=ceph-radosgw ;;
      *dnf*:mount | *pacman*:mount | *apk*:mount) package=util-linux ;;
    esac
    printf ' %s' "$package"
  done
}

# Nothing that bubblewrap needs is there.
say_macos() {
  command -v docker >/dev/null ||
    say 'on macOS code runs in docker only (WORKCRATE_SANDBOX=docker): brew install --cask docker'
}

say() {
  printf 'workcrate: %s\n' "$1" >&2
}

main
exit 0
