"""Which files are credentials: names and places, one row each, as data for ``files``.

A name is a glob with ``*`` alone, compared without case. ``within`` are the folders it must lie in, the nearest last.
``content`` names the look inside that must agree: many such files are harmless, and only some hold a secret.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Files of these names are of this kind."""

    kind: str
    names: tuple[str, ...]
    within: tuple[str, ...] = ()
    content: str | None = None


PLACES: tuple[Place, ...] = (
    Place("environment file", (".env", ".env.*", ".env~", "#.env#", "#.env.*#")),
    Place("environment file", ("*.env", ".envrc", ".env?*", ".dev.vars", ".dev.vars.*"), content="assignments"),
    Place("environment file", ("*",), (".envs", ".production"), "assignments"),
    # keys
    Place("SSH private key", ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss")),
    Place("SSH private key", ("*",), (".ssh",), "private key"),
    Place("PuTTY private key", ("*.ppk",)),
    Place(
        "private key",
        (
            "*.pem",
            "*.key",
            "*.p8",
            "*.pk8",
            "*.asc",
            "*.priv",
            "*.ovpn",
            "*_rsa",
            "*_dsa",
            "*_ecdsa",
            "*_ed25519",
            "*_key",
        ),
        content="private key",
    ),
    # a second one, and what editors and careful people leave beside one
    Place("private key", ("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"), content="private key"),
    Place("private key", ("*.pem~", "*.pem.bak", "*.pem.old", "*.pem.orig"), content="private key"),
    Place("private key", ("*.key~", "*.key.bak", "*.key.old", "*.key.orig"), content="private key"),
    Place("GnuPG private key", ("secring.gpg", "pubring.kbx~")),
    Place("GnuPG private key", ("*.key",), ("private-keys-v1.d",)),
    Place("age private key", ("*.agekey",)),
    Place("age private key", ("key.txt", "keys.txt", "age.txt"), content="age key"),
    Place("WireGuard private key", ("wg*.conf",), content="wireguard"),
    Place("keystore", ("*.jks", "*.jceks", "*.bks", "*.keystore", "*.p12", "*.pfx", "*.pkcs12", "*.keytab")),
    Place("password store", ("*.kdbx", "*.kdb", "*.psafe3", "*.keychain", "*.keychain-db", "*.enpassdb")),
    Place("Rails master key", ("master.key",), content="hex key"),
    Place("Rails master key", ("*.key",), ("config", "credentials")),
    # clouds and clusters
    Place("credentials", ("credentials", ".credentials", ".credentials.json", "credentials.db", "access_tokens.db")),
    Place("AWS configuration", ("config",), (".aws",), "assignments"),
    Place("AWS cached credentials", ("*.json",), (".aws", "sso", "cache")),
    Place("AWS cached credentials", ("*.json",), (".aws", "cli", "cache")),
    Place("S3 credentials", (".boto", ".s3cfg", ".passwd-s3fs", "rclone.conf")),
    Place("Google credentials", ("application_default_credentials.json", "adc.json"), content="json secret"),
    Place(
        "service account",
        (
            "*service*account*.json",
            "*credential*.json",
            "*-key.json",
            "*_key.json",
            "key.json",
            "keyfile.json",
            "sa.json",
            "*firebase*.json",
            "client_secret*.json",
            "*gcp*.json",
            "*google*.json",
            "*-????????????.json",
        ),
        content="json secret",
    ),
    Place(
        "Azure credentials",
        ("accesstokens.json", "msal_token_cache.*", "service_principal_entries.*", "*.publishsettings"),
    ),
    Place("Azure settings", ("local.settings.json",), content="assignments"),
    Place("cluster configuration", ("config",), (".kube",)),
    Place(
        "cluster configuration",
        ("kubeconfig", "kubeconfig.*", "*.kubeconfig", "admin.conf", "k3s.yaml"),
        content="kube",
    ),
    Place("container registry login", (".dockercfg", ".dockerconfigjson")),
    Place("container registry login", ("config.json",), (".docker",), "registry login"),
    Place("container registry login", ("auth.json",), ("containers",), "registry login"),
    Place("Terraform state", ("*.tfstate", "*.tfstate.backup", "*.tfstate.*.backup")),
    Place("Terraform variables", ("*.tfvars", "*.tfvars.json"), content="assignments"),
    Place("Terraform login", (".terraformrc", "terraform.rc", "credentials.tfrc.json"), content="assignments"),
    Place("Vault token", (".vault-token", ".vault_pass", ".vault_password", ".vault-password")),
    Place("Pulumi login", ("credentials.json",), (".pulumi",)),
    # logins of tools
    Place(
        "network login", (".netrc", "_netrc", ".authinfo", ".git-credentials", ".pgpass", "pgpass.conf", ".mylogin.cnf")
    ),
    Place("database login", (".my.cnf", "my.cnf", "profiles.yml", "database.yml"), content="assignments"),
    Place("password file", (".htpasswd", ".pwd", "htpasswd", "shadow"), content="hashes"),
    Place(
        "package registry login",
        (".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".condarc", "pip.conf", "pip.ini"),
        content="registry",
    ),
    Place(
        "package registry login",
        ("nuget.config", "settings.xml", "gradle.properties", ".gemrc", "auth.json"),
        content="registry",
    ),
    Place("package registry login", ("credentials.toml",), (".cargo",)),
    Place("package registry login", ("config",), (".bundle",), "registry"),
    Place("GitHub login", ("hosts.yml", "hosts.json", "apps.json"), ("gh",), "registry"),
    Place("GitHub login", ("hosts.json", "apps.json"), ("github-copilot",)),
    Place("GitLab login", ("config.yml",), ("glab-cli",), "registry"),
    Place("git remote with a password", ("config",), (".git",), "remote"),
    Place("git remote with a password", (".gitconfig", ".gitmodules"), content="remote"),
    Place("AI tool login", ("auth.json",), (".codex",)),
    Place("AI tool login", ("oauth_creds.json", "google_accounts.json", "mcp-oauth-tokens.json"), content=None),
    Place("AI tool login", ("auth.json", "mcp-auth.json"), ("opencode",)),
    Place("AI tool login", ("auth.json",), ("agent",), "registry"),
    Place("AI tool login", ("token", "stored_tokens"), ("huggingface",)),
    Place("AI tool login", ("token",), (".huggingface",)),
    Place("AI tool login", ("kaggle.json",)),
    Place(
        "service login",
        (".databrickscfg", ".snowsql", ".sentryclirc", ".flyrc", ".ngrok.yml", "ngrok.yml"),
        content="registry",
    ),
    Place(
        "secrets file",
        (".secrets", "secrets.toml", "secrets.yml", "secrets.yaml", "secrets.json", ".secrets.*"),
        content="assignments",
    ),
    # browsers and wallets
    Place("browser store", ("login data", "login data for account", "cookies", "web data"), content="sqlite"),
    Place("browser store", ("key3.db", "key4.db", "signons.sqlite", "cookies.sqlite")),
    Place("browser store", ("logins.json",), content="browser logins"),
    Place("wallet", ("wallet.dat", "*.wallet", "utc--*", "default_wallet")),
    Place("wallet", ("id.json",), ("solana",)),
    Place("wallet", ("*wallet*.json", "keypair*.json", "*-keypair.json"), content="wallet"),
)

TEMPLATES = (
    ".example",
    ".sample",
    ".template",
    ".dist",
    ".tmpl",
    ".tpl",
    ".in",
    ".j2",
    ".pub",
    ".md",
    ".rst",
    ".schema",
)
"""A name that ends so is a template or a text about such a file, unless a real token stands in it."""

HARMLESS = ("debug.keystore", ".env.vault")
"""Names that a rule fits and that hold no secret: Android's debug keystore is everybody's, that vault is encrypted."""

PRUNED = frozenset(
    {
        "node_modules", "bower_components", "jspm_packages", ".yarn", ".pnpm-store", ".pnpm", "vendor", "pods",
        "carthage",
        ".venv", "venv", "virtualenv", "site-packages", "__pycache__", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", "target", "dist", "build", "_build", "out", ".next", ".nuxt",
        ".svelte-kit", ".turbo", ".parcel-cache", ".angular", ".gradle", ".terraform", "elm-stuff", ".dart_tool",
        ".build", "deriveddata", ".git", ".hg", ".svn", ".jj", ".bzr",
    }
)  # fmt: skip
"""Folders (lower case) of which only the files directly in them are looked at: installed or built from elsewhere."""
