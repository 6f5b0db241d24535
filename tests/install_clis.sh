#!/bin/sh
# Install the real CLIs that tests/e2e drives, from the npm registry. Idempotent: a second run does nothing.
#
#   OSRC_TEST_CLIS   the folder they go into (default: $XDG_CACHE_HOME/outsourcerer-clis)
#
# bin/ in that folder then holds claude, codex and a node of their own: put it first on PATH.
set -eu

NODE=node@22
CLAUDE=@anthropic-ai/claude-code@2.1.332
CODEX=@openai/codex@0.171.0

into=${OSRC_TEST_CLIS:-${XDG_CACHE_HOME:-$HOME/.cache}/outsourcerer-clis}
stamp="$NODE $CLAUDE $CODEX"

if [ "$(cat "$into/installed" 2>/dev/null || true)" = "$stamp" ]; then
    echo "$into is up to date"
    exit 0
fi

# One package a folder: npm would otherwise resolve them against each other.
add() {
    mkdir -p "$into/$1"
    [ -f "$into/$1/package.json" ] || echo '{"private": true}' > "$into/$1/package.json"
    npm install --prefix "$into/$1" --no-audit --no-fund --loglevel=error "$2"
}

# Under an older node npm silently takes an older claude (its "engines" say node >= 22), and codex's
# launcher needs a node at all: so node comes first, and first on PATH.
rm -f "$into/installed"
mkdir -p "$into/bin"
add node "$NODE"
ln -sf ../node/node_modules/node/bin/node "$into/bin/node"
PATH="$into/bin:$PATH"
export PATH
add claude "$CLAUDE"
ln -sf ../claude/node_modules/.bin/claude "$into/bin/claude"
add codex "$CODEX"
ln -sf ../codex/node_modules/.bin/codex "$into/bin/codex"

"$into/bin/node" --version
"$into/bin/claude" --version
"$into/bin/codex" --version
echo "$stamp" > "$into/installed"
