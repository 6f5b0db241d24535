"""What lies in a delegate's reach is found wherever it hides, and nothing makes the scan hang, lie or go round."""

import base64
import itertools
import json
import os
import random
import time
from pathlib import Path

import pytest
from fakes.secret_corpus import HEX, SECRETS, private_key, uuid
from outsourcerer.actors import scope_scan
from outsourcerer.actors.scope_scan import ScanResult, scan

ROOT_READS_ALL = pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")


def look(*roots: Path, deadline_s: float = 60.0, limit_files: int = 1_000_000) -> ScanResult:
    return scan([str(root) for root in roots], deadline_s=deadline_s, clock=time.monotonic, limit_files=limit_files)


def put(path: Path, content: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def kinds(result: ScanResult, root: Path) -> dict[str, str]:
    return {os.path.relpath(found.path, root): found.kind for found in result.found}


def test_deep_hidden_and_ignored_files_are_found_in_any_case(tmp_path: Path):
    put(tmp_path / ".gitignore", ".env\nsecret/\n")
    put(tmp_path / "a/b/c/d/e/f/g/.env")
    put(tmp_path / "secret/ID_RSA")
    put(tmp_path / ".hidden/Credentials")
    put(tmp_path / "infra/Prod.TFSTATE")
    put(tmp_path / ".env.example", "KEY=your-key-here")
    result = look(tmp_path)
    assert set(kinds(result, tmp_path)) == {
        "a/b/c/d/e/f/g/.env",
        "secret/ID_RSA",
        ".hidden/Credentials",
        "infra/Prod.TFSTATE",
    }
    assert result.complete
    assert result.files == 6


def test_installed_folders_are_not_gone_through_but_their_own_files_are(tmp_path: Path):
    put(tmp_path / "node_modules/pkg/.env")
    put(tmp_path / "Node_Modules2/.env")
    put(tmp_path / "dist/.env")
    put(tmp_path / "BUILD/deep/.env")
    put(tmp_path / ".git/config", "[remote]\n\turl = https://me:s3cr3tpw@example.org/x\n")
    put(tmp_path / ".git/objects/.env")
    assert set(kinds(look(tmp_path), tmp_path)) == {"Node_Modules2/.env", "dist/.env", ".git/config"}


@pytest.mark.parametrize("kind", SECRETS)
def test_no_kind_of_secret_is_missed_in_a_file_that_holds_secrets(tmp_path: Path, kind: str):
    secret = SECRETS[kind](random.Random(kind))
    for name in (".env.example", ".envrc", "secrets.yml", ".npmrc"):
        put(tmp_path / name, f"# settings\nVALUE={secret}\n")
    assert len(look(tmp_path).found) == 4


def test_links_count_by_their_name_and_by_where_they_lead(tmp_path: Path):
    scope, outside = tmp_path / "scope", tmp_path / "outside"
    put(outside / "id_ed25519")
    put(outside / "plain.txt")
    put(outside / "folder/sub/.env")
    scope.mkdir()
    (scope / "notes.txt").symlink_to(outside / "id_ed25519")
    (scope / ".env").symlink_to(outside / "plain.txt")
    (scope / "docs").symlink_to(outside / "folder")
    (scope / "dangling").symlink_to(outside / "nothing")
    result = look(scope)
    assert set(kinds(result, scope)) == {"notes.txt", ".env", "../outside/folder/sub/.env"}
    assert result.complete


def test_loops_end(tmp_path: Path):
    scope, outside = tmp_path / "scope", tmp_path / "outside"
    put(scope / "a/b/file.txt")
    put(outside / "x/file.txt")
    (scope / "a/b/up").symlink_to(scope)
    (scope / "self").symlink_to("self")
    (scope / "all").symlink_to(tmp_path)
    (scope / "out").symlink_to(outside)
    (outside / "x/back").symlink_to(scope)
    (outside / "x/again").symlink_to(outside)
    result = look(scope)
    assert result.complete
    assert result.files < 30


def test_fifos_devices_and_enormous_files_do_not_hold_it_up(tmp_path: Path):
    os.mkfifo(tmp_path / ".env")
    (tmp_path / "server.pem").symlink_to("/dev/zero")
    with (tmp_path / "prod.tfvars").open("wb") as file:
        file.write(b'password = "k3jH8sLw02Qm"\n')
        file.truncate(10 * 2**30)
    result = look(tmp_path)
    assert kinds(result, tmp_path) == {".env": "environment file", "prod.tfvars": "Terraform variables"}
    assert result.complete


def test_a_pipe_that_may_hand_out_a_secret_is_a_find(tmp_path: Path):
    os.mkfifo(tmp_path / ".npmrc")
    os.mkfifo(tmp_path / "queue")
    result = look(tmp_path)
    assert kinds(result, tmp_path) == {".npmrc": "pipe that may hand out a secret"}
    assert result.complete


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (".env~", "environment file"),
        ("#.env#", "environment file"),
        (".dev.vars", "environment file"),
        (".envs/.production/.django", "environment file"),
        ("id_ed25519_github", "private key"),
        ("id_rsa.bak", "private key"),
        ("ssh_host_rsa_key", "private key"),
        ("server.pem.bak", "private key"),
        ("krb5.keytab", "keystore"),
    ],
)
def test_copies_and_second_ones_are_found(tmp_path: Path, name: str, kind: str):
    secret = SECRETS["github classic"](random.Random(1))
    put(tmp_path / name, f"TOKEN={secret}\n{private_key('OPENSSH ')(random.Random(1))}\n")
    assert kinds(look(tmp_path), tmp_path) == {name: kind}


@pytest.mark.parametrize("name", ["id_rsa_test.go", "public_key", "id_rsa.bak", "app.pem.old", ".dev.vars"])
def test_such_names_alone_refuse_nothing(tmp_path: Path, name: str):
    put(tmp_path / name, "nothing that is kept from anybody\n")
    assert look(tmp_path).found == ()


def test_any_name_is_looked_at(tmp_path: Path):
    for folder in (b"new\nline", b"-rf", b"\xff\xfe", b"\x1b]0;title\x07", "кириллица".encode()):
        put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + folder)) / ".env")
    result = look(tmp_path)
    assert len(result.found) == 5
    assert result.complete


@ROOT_READS_ALL
def test_an_own_folder_that_cannot_be_read_makes_it_incomplete(tmp_path: Path):
    shut = tmp_path / "shut"
    shut.mkdir(mode=0)
    result = look(tmp_path)
    shut.chmod(0o700)
    assert not result.complete
    assert result.why is not None
    assert "shut" in result.why


def test_trouble_with_a_folder_of_ones_own_is_told_and_a_strangers_is_passed_over(tmp_path, monkeypatch):
    shut = tmp_path / "shut"
    shut.mkdir()
    real = os.scandir

    def refuse(path):
        if os.fsdecode(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(scope_scan.os, "scandir", refuse)
    result = look(tmp_path)
    assert (result.complete, "shut could not be read: Permission denied" in str(result.why)) == (False, True)
    monkeypatch.setattr(scope_scan.os, "geteuid", lambda: os.getuid() + 1)
    assert look(tmp_path).complete
    monkeypatch.delattr(scope_scan.os, "geteuid")
    assert not look(tmp_path).complete, "where nobody can tell whose it is, it is told"


def test_what_vanishes_meanwhile_is_no_trouble(tmp_path, monkeypatch):
    put(tmp_path / "gone/x")
    real = os.scandir

    def vanish(path):
        if os.fsdecode(path).endswith("gone"):
            raise FileNotFoundError(2, "No such file or directory")
        return real(path)

    monkeypatch.setattr(scope_scan.os, "scandir", vanish)
    assert look(tmp_path).complete


def test_it_fails_closed_at_its_bounds(tmp_path: Path):
    for number in range(20):
        put(tmp_path / f"folder{number}/file")
    few = look(tmp_path, limit_files=10)
    assert (few.complete, few.why) == (False, "there are more than 10 files")
    ticks = itertools.count()
    late = scan([str(tmp_path)], deadline_s=5, clock=lambda: float(next(ticks)))
    assert (late.complete, late.why) == (False, "looking took longer than 5 s")
    missing = look(tmp_path / "nowhere")
    assert not missing.complete
    assert "nowhere" in str(missing.why)


def test_a_root_may_be_a_file_or_a_link(tmp_path: Path):
    key = put(tmp_path / "id_rsa")
    put(tmp_path / "real/.env")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert [found.kind for found in look(key).found] == ["SSH private key"]
    assert len(look(tmp_path / "linked", tmp_path / "linked").found) == 1


def repository(root: Path, rnd: random.Random) -> None:
    """Make what large public repositories have that looks like secrets and is none."""
    packages = {
        f"pkg-{n}": {"version": "1.0.0", "integrity": "sha512-" + base64.b64encode(rnd.randbytes(64)).decode()}
        for n in range(3000)
    }
    put(root / "package-lock.json", json.dumps({"packages": packages}, indent=1))
    put(root / "poetry.lock", "\n".join(f'hash = "sha256:{rnd.randbytes(32).hex()}"' for _ in range(3000)))
    put(
        root / "go.sum",
        "\n".join(f"example.com/m v1 h1:{base64.b64encode(rnd.randbytes(32)).decode()}" for _ in range(900)),
    )
    names = ["token", "secret", "password", "apiKey", "credentials"]
    code = ";".join(f"var {rnd.choice(names)}{n}=function(a,b){{return a.{rnd.choice(names)}||b}}" for n in range(5000))
    put(root / "static/app.min.js", code)
    put(
        root / "static/logo.css",
        f"a{{background:url(data:image/png;base64,{base64.b64encode(rnd.randbytes(90_000)).decode()})}}",
    )
    put(root / "fixtures/ids.csv", "\n".join(f"{uuid(rnd)},{''.join(rnd.choices(HEX, k=40))}" for _ in range(4000)))
    put(
        root / "tests/test_login.py",
        "def test_login():\n    assert login(password='password', token='test-token')\n" * 300,
    )
    put(
        root / "tests/fixtures/users.json",
        json.dumps([{"user": f"u{n}", "password": "password123"} for n in range(500)]),
    )
    put(
        root / "docs/keys.md",
        "Get an API key (`sk-...`), then `export OPENAI_API_KEY=<your key>`. Never commit `.env`.\n" * 200,
    )
    put(
        root / "docs/credentials.md",
        "AWS calls " + "AKIA" + "IOSFODNN7EXAMPLE an example. -----BEGIN RSA PRIVATE" + " KEY-----\n",
    )
    put(
        root / ".env.example",
        "OPENAI_API_KEY=\nSTRIPE_KEY=sk" + "_test_xxxxxxxxxxxxxxxxxxxxxxxx\nDB=postgres://user:password@localhost/db\n",
    )
    put(root / ".npmrc", "engine-strict=true\n//registry.npmjs.org/:_authToken=${NODE_AUTH_TOKEN}\n")
    put(root / "certs/ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    put(root / ".git/config", '[remote "origin"]\n\turl = https://github.com/acme/app.git\n')
    put(root / "config/database.yml", "test:\n  password: postgres\nproduction:\n  password: <%= ENV['DB'] %>\n")
    put(root / "android/debug.keystore")
    put(root / "k8s/secret.yaml", "kind: Secret\ndata:\n  password: Y2hhbmdlbWU=\n")
    put(root / "src/environments/environment.prod.ts", "export const environment = { production: true };")
    put(root / "src/auth/credentials.ts", "export interface Credentials { token: string }")


def test_public_repositories_are_clean(tmp_path: Path):
    rnd = random.Random(2024)
    for number in range(3):
        repository(tmp_path / f"repo{number}", rnd)
    result = look(tmp_path)
    assert (result.found, result.complete) == ((), True)


def test_a_private_key_among_them_is_not_lost(tmp_path: Path):
    rnd = random.Random(5)
    repository(tmp_path, rnd)
    put(tmp_path / "deploy/keys/prod", "x")
    put(tmp_path / "deploy/keys/prod.pem", private_key("RSA ")(rnd))
    assert kinds(look(tmp_path), tmp_path) == {"deploy/keys/prod.pem": "private key"}
