#!/bin/sh
# Install the real CLIs that tests/e2e drives, from the npm registry. Idempotent: what is there is left alone.
#
#   OSRC_TEST_CLIS   the folder they go into (default: $XDG_CACHE_HOME/outsourcerer-clis)
#   sh tests/install_clis.sh [NAME...]   only these (and node); without names, all of them
#
# bin/ in that folder then holds the CLIs and a node of their own: put it first on PATH.
set -eu

# Command, package, pinned version. Under an older node npm silently takes an older claude (its "engines"
# say node >= 22), and most launchers need a node at all: so node comes first, and first on PATH.
CLIS='
node   node                        22
claude @anthropic-ai/claude-code   2.1.332
codex  @openai/codex               0.171.0
gemini @google/gemini-cli          0.61.0
qwen   @qwen-code/qwen-code        0.24.4
opencode opencode-ai              1.18.33
cline  cline                       3.0.65
droid  droid                       0.215.0
copilot @github/copilot           1.0.102
pi     @mariozechner/pi-coding-agent 0.73.1
claude-agent-acp @agentclientprotocol/claude-agent-acp 0.101.0
codex-acp @agentclientprotocol/codex-acp 2.6.0
'

into=${OSRC_TEST_CLIS:-${XDG_CACHE_HOME:-$HOME/.cache}/outsourcerer-clis}
mkdir -p "$into/bin"
PATH="$into/bin:$PATH"
export PATH

# One package a folder: npm would otherwise resolve them against each other.
add() {
    name=$1 package=$2@$3
    [ "$(cat "$into/$name/installed" 2>/dev/null || true)" = "$package" ] && return 0
    mkdir -p "$into/$name"
    [ -f "$into/$name/package.json" ] || echo '{"private": true}' > "$into/$name/package.json"
    # The adapters bring a CLI of their own, of up to 300 MB, as an optional dependency; ours are told to use the one here.
    case $name in *-acp) leave=--omit=optional ;; *) leave= ;; esac
    npm install --prefix "$into/$name" --no-audit --no-fund --loglevel=error $leave "$package" < /dev/null
    ln -sf "../$name/node_modules/.bin/$name" "$into/bin/$name"
    "$into/bin/$name" --version < /dev/null
    echo "$package" > "$into/$name/installed"
}

echo "$CLIS" | while read -r name package version; do
    [ -n "$name" ] || continue
    case " node ${*:-$name} " in
        *" $name "*) add "$name" "$package" "$version" ;;
    esac
done
