"""Credential files are known by name, by place and by a look inside; ordinary files are not."""

import json
import random

import pytest
from fakes.secret_corpus import SECRETS, private_key
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.secrets.files import content_kind, credential_kind, needs_content, suspects
from outsourcerer.lanes.secrets.looks import LOOKS
from outsourcerer.lanes.secrets.places import PLACES

RND = random.Random(11)
KEY = private_key("")(RND)
TOKEN = SECRETS["github classic"](RND)
WORD = "k3jH8sLw02Qm"
BY_NAME = [
    ".env",
    ".env.local",
    ".env.production",
    ".ENV",
    ".Env.Test",
    ".env.keys",
    "credentials",
    ".aws/credentials",
    ".aws/sso/cache/a1.json",
    ".ssh/../id_rsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "secring.gpg",
    "private-keys-v1.d/0A.key",
    "x.agekey",
    "my.ppk",
    "store.jks",
    "app.keystore",
    "cert.p12",
    "cert.PFX",
    "vault.kdbx",
    "login.keychain-db",
    "access_tokens.db",
    ".kube/config",
    ".dockercfg",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "prod.tfstate",
    ".vault-token",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    "rclone.conf",
    ".s3cfg",
    ".boto",
    ".cargo/credentials.toml",
    ".codex/auth.json",
    "oauth_creds.json",
    "opencode/auth.json",
    "huggingface/token",
    "kaggle.json",
    "key4.db",
    "cookies.sqlite",
    "wallet.dat",
    "keystore/UTC--2024-01-01T00-00-00Z--ab",
    "solana/id.json",
    "msal_token_cache.json",
    "github-copilot/apps.json",
    ".claude/.credentials.json",
    "config/credentials/production.key",
]
BY_CONTENT = {
    ".ssh/work": KEY,
    "server.pem": KEY,
    "tls.key": KEY,
    "AuthKey_AB12.p8": KEY,
    "client.ovpn": f"<key>\n{KEY}\n</key>",
    "backup.asc": KEY.replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    "keys.txt": SECRETS["age"](RND),
    "wg0.conf": f"[Interface]\nPrivateKey = {'aB3' * 14}x=\n",
    ".envrc": f"export API_KEY={WORD}",
    "prod.env": f"DB_PASSWORD={WORD}",
    ".env_backup": f"TOKEN={WORD}",
    ".env.example": f"GITHUB_TOKEN={TOKEN}",
    ".npmrc": "//registry.npmjs.org/:_authToken=3fa9-secretish\n",
    ".pypirc": "[pypi]\nusername = me\npassword = hunter22\n",
    ".yarnrc.yml": "npmAuthToken: abc-def-123\n",
    "pip.conf": "[global]\nindex-url = https://me:s3cr3t@pypi.example.org/simple\n",
    "nuget.config": '<add key="ClearTextPassword" value="hunter22" />',
    ".m2/settings.xml": "<server><password>hunter22</password></server>",
    "gradle.properties": "ossrhPassword=hunter22\n",
    "gh/hosts.yml": f"github.com:\n  oauth_token: {TOKEN}\n",
    ".git/config": '[remote "origin"]\n\turl = https://me:s3cr3t@example.org/x.git\n',
    ".docker/config.json": '{"auths": {"r.example.org": {"auth": "bWU6aHVudGVyMjI="}}}',
    ".aws/config": f"[default]\naws_secret_access_key = {WORD}{WORD}\n",
    "my-service-account.json": json.dumps({"type": "service_account", "private_key": KEY}),
    "acme-prod-0123456789ab.json": json.dumps({"type": "service_account", "private_key": KEY}),
    "application_default_credentials.json": '{"refresh_token": "1/k3jH8sLw02Qm-k3jH8sLw02Qm", "type": "authorized_user"}',
    "client_secret_42.json": '{"installed": {"client_secret": "GOC' + 'SPX-abcDEF123456"}}',
    "kubeconfig.yaml": "users:\n- user:\n    client-key-data: LS0tLS1CRUdJTi\n",
    "prod.tfvars": f'db_password = "{WORD}"',
    "secrets.yml": f"production:\n  secret_key_base: {WORD * 8}\n",
    "master.key": "0123456789abcdef" * 2,
    ".htpasswd": "me:$apr1$abcdefgh$0123456789abcdefghijkl\n",
    "Login Data": "SQLite format 3\0...",
    "logins.json": '{"logins": [{"encryptedPassword": "x"}]}',
    "keypair-main.json": str(list(range(64))),
    "database.yml": f"production:\n  password: {WORD}\n",
    "local.settings.json": json.dumps({"Values": {"Storage": SECRETS["azure storage"](RND)}}),
}
ORDINARY = {
    ".env.example": "OPENAI_API_KEY=your-api-key-here\nDB_PASSWORD=changeme\n",
    ".env.production.sample": "TOKEN=\n",
    ".env.dist": "APP_SECRET=placeholder\n",
    ".envrc": "use flake\nexport TOKEN=$(pass show token)\nPATH_add bin\n",
    "ci.env": "NODE_ENV=test\nPORT=3000\n",
    "id_rsa.pub": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC me@example",
    "cacert.pem": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "slides.key": "PK\3\4 a presentation",
    ".npmrc": "save-exact=true\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n",
    ".pypirc": "[pypi]\nusername = __token__\n",
    ".git/config": '[remote "origin"]\n\turl = https://github.com/acme/x.git\n\turl = git@github.com:acme/x.git\n',
    "docker-compose.yml": "POSTGRES_PASSWORD: postgres\n",
    "database.yml": "test:\n  password: postgres\nproduction:\n  password: <%= ENV['DB_PASSWORD'] %>\n",
    "secrets.yml": "production:\n  secret_key_base: <%= ENV['SECRET_KEY_BASE'] %>\n",
    "variables.tfvars": 'region = "eu-west-1"\npassword = var.password\n',
    "nuget.config": '<add key="nuget.org" value="https://api.nuget.org/v3/index.json" />',
    "settings.xml": "<password>${env.PASSWORD}</password>",
    "gradle.properties": "org.gradle.jvmargs=-Xmx2g\n",
    "auth.json": "{}",
    "credentials.md": "Put your credentials into ~/.aws/credentials.",
    "credentials.py": "class Credentials: pass",
    "google-analytics.json": '{"trackingId": "UA-1"}',
    "environment.ts": "export const environment = {};",
    "debug.keystore": "any",
    "token.go": "package token",
    "password_reset.html": "<input type=password>",
    "wallet.ts": "export const wallet = 1;",
    "config": "a",
    "admin.conf": "listen 80;",
    "keys.txt": "a list of keys",
}


def parts(path: str) -> tuple[str, ...]:
    return ("home", "me", "repo", *path.split("/"))


def judged(path: str, content: str) -> str | None:
    kind = credential_kind(parts(path))
    return kind or (content_kind(parts(path), content.encode()) if needs_content(parts(path)) else None)


@pytest.mark.parametrize("path", BY_NAME)
def test_known_by_name_or_place(path: str):
    assert credential_kind(parts(path))
    assert not needs_content(parts(path))


@pytest.mark.parametrize("path", BY_CONTENT)
def test_known_by_a_look_inside(path: str):
    assert judged(path, BY_CONTENT[path])
    assert credential_kind(parts(path)) is None


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_are_none(path: str):
    assert judged(path, ORDINARY[path]) is None


@pytest.mark.parametrize("path", [*BY_NAME, *BY_CONTENT])
def test_the_quick_look_at_a_folder_misses_none_whatever_its_case(path: str):
    *folders, name = path.split("/")
    folder = folders[-1] if folders else "repo"
    for written in (name, name.upper(), name.lower()):
        names = [b"README.md", written.encode(), b"main.py"]
        assert written.encode() in suspects(names, folder.encode())
        assert credential_kind(parts("/".join([*folders, written]))) or needs_content(
            parts("/".join([*folders, written]))
        )


def test_the_quick_look_passes_over_ordinary_names():
    names = [b"main.py", b"index.js", b"README.md", b"package-lock.json", b"a\nb", b"\xff\xfe", b"my_id_rsa_test.go"]
    assert suspects(names, b"src") == []


names = st.text(st.sampled_from("abc.env*id_rsakeyjson-\n é"), min_size=1, max_size=16)


@given(names, st.sampled_from(["repo", ".ssh", ".kube", "config", "credentials"]), st.binary(max_size=200))
def test_any_name_and_any_content_gets_an_answer_and_the_quick_look_agrees(name: str, folder: str, head: bytes):
    path = ("home", folder, name)
    kind = credential_kind(path) or (content_kind(path, head) if needs_content(path) else None)
    if kind:
        assert name.encode() in suspects([b"x", name.encode()], folder.encode())


def test_the_table_names_looks_that_exist():
    assert {place.content for place in PLACES} - {None} <= set(LOOKS)
