#!/bin/sh
# Finds the program osrc and becomes it: the one of the checkout or installation that this file is part of, else the
# one on PATH, else one of its own in the data folder, which it makes at the first use from a checkout that is here.
#
#   OSRC_INSTALL_FROM   what to install where there is none: the path of a checkout or of a wheel
#   XDG_DATA_HOME       where (default: ~/.local/share), in outsourcerer/venv
#
# Started by a hook it installs nothing, and exits 0 whatever happens. Started for "mcp", the one of its own gets the
# packages that an MCP server needs.

say() { printf '%s\n' "$*" >&2; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")" 2>/dev/null && pwd -P) || here=
root=${here%/cli/plugin/skills/outsourcerer/scripts}
[ "$root" != "$here" ] || root=
data=${XDG_DATA_HOME:-${HOME:-}/.local/share}/outsourcerer
hook=
[ "${1-}" != hook ] || hook=yes
extra=
for word in "$@"; do # the first word that is no option
    case $word in -*) ;; mcp) extra='[mcp]' && break ;; *) break ;; esac
done

# --- finding it

beside() {
    [ -n "$root" ] || return 1
    for program in "$root/.venv/bin/osrc" "$root/../../../../bin/osrc"; do
        [ -x "$program" ] && return 0
    done
    return 1
}

on_path() {
    program=$(command -v osrc 2>/dev/null) || return 1
    case $program in /*) ;; *) return 1 ;; esac
    [ ! "$program" -ef "$0" ] # a link to this file is not the program
}

in_data() {
    program=$data/venv/bin/osrc
    [ -x "$program" ]
}

# --- making it

python() {
    for found in python3 python3.14 python3.13 python3.12 python3.11; do
        command -v "$found" >/dev/null 2>&1 || continue
        "$found" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && return 0
    done
    return 1
}

source_here() {
    source=${OSRC_INSTALL_FROM:-}
    [ -z "$source" ] || return 0
    plugins=${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/plugins
    for source in "$root" "$plugins"/marketplaces/*; do
        is_ours && return 0
    done
    # Claude Code 2.1.332 leaves a marketplace that is a folder where it is, and notes its path.
    source=$(sed -n 's/^ *"installLocation": "\(.*\)",\{0,1\}$/\1/p' "$plugins/known_marketplaces.json" 2>/dev/null |
        while IFS= read -r source; do is_ours && printf '%s' "$source" && break; done)
    [ -n "$source" ]
}

is_ours() {
    grep -q '^name = "outsourcerer"$' "$source/pyproject.toml" 2>/dev/null
}

refuse() {
    say "ERROR: osrc is not installed, and $1."
    say "  try: $2"
    exit 1
}

give_up() {
    rm -rf -- "$data/venv"
    rmdir -- "$data/venv.lock" 2>/dev/null
    refuse "$1" "$2"
}

wait_for_other() {
    say "osrc: another command is installing it; waiting."
    left=150
    while [ -d "$data/venv.lock" ] && [ "$left" -gt 0 ]; do
        sleep 2
        left=$((left - 1))
    done
    in_data || refuse "the other installation did not end well" "rm -r '$data/venv.lock', then the same again"
}

bootstrap() {
    python || refuse "no Python 3.11 or newer is on PATH" "install Python 3.11 or newer, then the same again"
    source_here || refuse "no checkout of it is known here" \
        "OSRC_INSTALL_FROM=/path/to/checkout sh '$0' doctor"
    mkdir -p -- "$data" 2>/dev/null || refuse "$data can't be made" "give another place with XDG_DATA_HOME=DIR"
    if ! mkdir -- "$data/venv.lock" 2>/dev/null; then
        wait_for_other
        return
    fi
    trap 'give_up "its installation was interrupted" "the same again"' HUP INT TERM
    say "osrc: first use: installing it from $source into $data/venv (a minute or so)."
    log=$data/install.log
    "$found" -m venv "$data/venv" >"$log" 2>&1 ||
        give_up "a virtual environment can't be made (see $log)" "install the venv module of $found (Debian: python3-venv)"
    install "$source$extra" ||
        give_up "its packages can't be fetched (see $log): is there a network?" \
            "with a network, the same again; without one, set PIP_FIND_LINKS to a folder of wheels and PIP_NO_INDEX=1"
    in_data || give_up "what was installed is not osrc (see $log)" "check OSRC_INSTALL_FROM"
    trap - HUP INT TERM
    rmdir -- "$data/venv.lock"
    say "osrc: installed. To remove it: rm -r '$data'"
}

install() { # from the host's own line nothing is read
    "$data/venv/bin/python" -m pip install --quiet --disable-pip-version-check --prefer-binary "$1" >>"$log" 2>&1 </dev/null
}

add_extra() {
    [ -n "$extra" ] && [ "$program" = "$data/venv/bin/osrc" ] || return 0
    "$data/venv/bin/python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("mcp") is None)' 2>/dev/null && return
    say "osrc: adding what an MCP server needs to $data/venv (a minute or so)."
    log=$data/install.log
    install "outsourcerer$extra" || say "osrc: that could not be fetched (see $log): is there a network?"
}

# --- becoming it

if beside || on_path || in_data; then
    :
elif [ -n "$hook" ]; then
    [ "${2-}" != session-start ] || printf '%s\n' "Outsourcerer: its program is not installed yet; sh '$0' doctor does that."
    exit 0
else
    bootstrap
fi
if [ -n "$hook" ]; then
    OSRC_LAUNCHER=$here/outsourcerer.sh "$program" "$@" 2>/dev/null
    exit 0
fi
add_extra
exec "$program" "$@"
