"""The formats of secrets, one row each, for RE2: linear time whatever the text.

Formats are those that the vendors publish and that the public rule sets of Gitleaks and Betterleaks (MIT) and
Kingfisher (Apache-2.0) describe, without their trailing delimiters and with lower bounds only, so that a comma, a
bracket or a longer generation of the same token hides nothing (docs/decisions/0006). A row is high when the token tells
by itself what it is: a vendor's own prefix, then enough random characters. Whatever needs a word beside it to be
recognised (``password = ...``) is low: counted, never a reason to refuse.

A pattern matches no line break, captures nothing, and begins with something rare: only there the whole is tried.
"""

from __future__ import annotations

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

HIGH: tuple[tuple[str, str, str], ...] = (
    # AI providers
    ("anthropic-key", "sk-ant-[a-z0-9]{2,12}-", "[A-Za-z0-9_-]{60,}"),
    ("openrouter-key", "sk-or-v1-", "[0-9a-f]{40,}"),
    ("openai-key", "sk-(?:proj|svcacct|admin|None)-", "[A-Za-z0-9_-]{32,}"),
    ("langfuse-key", "sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-", "[0-9a-f]{12}"),
    ("sk-key", "sk-(?:api-|kimi-|sp-|v[0-9]-)?", "[A-Za-z0-9]{20,}"),
    ("cartesia-key", "sk_car_", "[A-Za-z0-9_]{20,}"),
    ("elevenlabs-key", "sk_", "[0-9a-f]{48}"),
    ("google-api-key", "AIza", "[A-Za-z0-9_-]{35}"),
    ("gemini-key", r"AQ\.Ab8RN6", "[A-Za-z0-9_-]{40,}"),
    ("google-oauth-secret", "GOCSPX-", "[A-Za-z0-9_-]{28}"),
    ("google-oauth-token", r"ya29\.", "[A-Za-z0-9_-]{30,}"),
    ("google-refresh-token", "1//0", "[A-Za-z0-9_-]{38,}"),
    ("groq-key", "gsk_", "[A-Za-z0-9]{48,}"),
    ("xai-key", "xai-", "[A-Za-z0-9_-]{60,}"),
    ("cerebras-key", "csk-", "[a-z0-9]{40,}"),
    ("perplexity-key", "pplx-", "[A-Za-z0-9]{40,}"),
    ("replicate-token", "r8_", "[A-Za-z0-9]{37}"),
    ("huggingface-token", "hf_", "[A-Za-z]{34}"),
    ("huggingface-org-token", "api_org_", "[A-Za-z]{34}"),
    ("nvidia-key", "nvapi-", "[A-Za-z0-9_-]{50,}"),
    ("together-key", "tgp_v1_", "[A-Za-z0-9_-]{40,}"),
    ("fireworks-key", "fw_", "[A-Za-z0-9]{22,}"),
    ("pinecone-key", "pcsk_[A-Za-z0-9]{5,6}_", "[A-Za-z0-9]{60,}"),
    ("llama-cloud-key", "llx-", "[A-Za-z0-9]{40,}"),
    ("langsmith-key", "lsv2_(?:pt|sk)_", "[0-9a-f]{32}_[0-9a-f]{10}"),
    ("wandb-key", "wandb_v1_", "[A-Za-z0-9_]{60,}"),
    ("vercel-token", "vc[kacirp]_", "[A-Za-z0-9_-]{50,}"),
    ("factory-key", "fk-", "[A-Za-z0-9]{16,}-[A-Za-z0-9_-]{32,}"),
    ("devin-key", "(?:apk_user_|apk_|cog_)", "[A-Za-z0-9+/]{50,}"),
    ("tavily-key", "tvly-(?:dev-|prod-)?", "[A-Za-z0-9]{28,}"),
    # code hosts, packages, builds
    ("github-token", "gh[pousr]_", "[A-Za-z0-9]{36,}"),
    ("github-fine-grained-token", "github_pat_", "[A-Za-z0-9_]{60,}"),
    ("gitlab-token", "gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-", "[A-Za-z0-9_.-]{20,}"),
    ("gitlab-runner-token", "GR1348941", "[A-Za-z0-9_-]{20}"),
    ("bitbucket-token", "ATBB", "[A-Za-z0-9_=]{20,}"),
    ("bitbucket-server-token", "BBDC-", "[A-Za-z0-9+/=]{32,}"),
    ("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]{60,}"),
    ("npm-token", "npm_", "[A-Za-z0-9]{36}"),
    ("pypi-token", "pypi-AgE", "[A-Za-z0-9_-]{50,}"),
    ("rubygems-token", "rubygems_", "[0-9a-f]{48}"),
    ("clojars-token", "CLOJARS_", "[0-9a-f]{60}"),
    ("docker-token", "dckr_(?:pat|oat)_", "[A-Za-z0-9_-]{27,}"),
    ("artifactory-key", "AKCp", "[A-Za-z0-9]{60,}"),
    ("artifactory-token", "cmVmd", "[A-Za-z0-9]{59}"),
    ("circleci-token", "CCI(?:PAT|PRJ)_", "[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    ("buildkite-token", "bk(?:ua|aa|aj|ar|ct|pt|pat|ps)_", "[A-Za-z0-9_-]{40,}"),
    ("codeclimate-token", "CCTR_", "[A-Za-z0-9]{30,}"),
    ("sonar-token", "sq[pua]_", "[0-9a-f]{40}"),
    ("snyk-token", "snyk_(?:uat|sat)_", "[A-Za-z0-9._-]{30,}"),
    ("sourcegraph-token", "sgp_", "(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}"),
    ("figma-token", "figd_", "[A-Za-z0-9_-]{38,}"),
    ("postman-key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}"),
    ("linear-key", "lin_(?:api|oauth)_", "[A-Za-z0-9]{40}"),
    ("notion-token", "ntn_", "[A-Za-z0-9]{40,}"),
    ("notion-secret", "secret_", "[A-Za-z0-9]{43}"),
    ("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("readme-key", "rdme_", "[a-z0-9]{70}"),
    ("deno-token", "dd[pw]_", "[A-Za-z0-9]{36}"),
    ("netlify-token", "nfp_", "[A-Za-z0-9]{36,}"),
    # clouds and their tools
    ("aws-access-key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z2-7]{16}"),
    ("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{100,}"),
    ("aws-bedrock-short-key", "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", "[A-Za-z0-9+/=&%-]*"),
    ("azure-storage-key", "AccountKey", "=[A-Za-z0-9+/]{86}=="),
    ("azure-shared-access-key", "SharedAccessKey", "=[A-Za-z0-9+/]{42,}={0,2}"),
    ("alibaba-key", "LTAI", "[A-Za-z0-9]{17,21}"),
    ("tencent-key", "AKID", "[A-Za-z0-9]{32}"),
    ("yandex-key", "AQVN", "[A-Za-z0-9_-]{35,38}"),
    ("digitalocean-token", "do[opr]_v1_", "[0-9a-f]{64}"),
    ("scaleway-key", "SCW", "[A-Z0-9]{17}"),
    ("heroku-key", "HRKU-", f"(?:AA[A-Za-z0-9_-]{{58}}|{UUID})"),
    ("fly-token", "fm[12][ar]?_", "[A-Za-z0-9+/=,_-]{100,}"),
    ("render-key", "rnd_", "[A-Za-z0-9]{28,}"),
    ("cloudflare-token", "cf(?:at|ut|k)_", "[A-Za-z0-9]{40,}"),
    ("cloudflare-ca-key", r"v1\.0-", "[0-9a-f]{24}-[0-9a-f]{146}"),
    ("databricks-token", "dapi", "[0-9a-f]{32}"),
    ("doppler-token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("vault-token", r"hv[sbr]\.", "[A-Za-z0-9_-]{60,}"),
    ("vault-service-token", r"hvs\.", "[A-Za-z0-9]{24,}"),
    ("pulumi-token", "pul-", "[0-9a-f]{40}"),
    ("tailscale-key", "tskey-[a-z]{2,10}-", "[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}"),
    ("1password-token", "ops_eyJ", "[A-Za-z0-9+/]{250,}"),
    ("1password-key", "A3-[A-Z0-9]{6}-", "(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("age-key", "AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    ("swarm-token", "SWMTKN-1-", "[a-z0-9]{50,60}-[a-z0-9]{24,30}"),
    ("swarm-unlock-key", "SWMKEY-1-", "[A-Za-z0-9+/]{40,50}"),
    ("openshift-token", "sha256~", "[A-Za-z0-9_-]{43}"),
    # data and observability
    ("planetscale-secret", "pscale_(?:tkn|pw|oauth)_", "[A-Za-z0-9_=.-]{32,}"),
    ("supabase-token", "sbp_", "[0-9a-f]{40}"),
    ("supabase-key", "sb_secret_", "[A-Za-z0-9_-]{31,}"),
    ("neon-key", "napi_", "[A-Za-z0-9]{60,}"),
    ("mongodb-atlas-secret", "mdb_sa_sk_", "[A-Za-z0-9_-]{40,}"),
    ("cockroach-key", "CCDB1_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    ("datastax-token", "AstraCS:", "[A-Za-z0-9]{20,}:[0-9a-f]{20,}"),
    ("clickhouse-key", "4b1d", "[A-Za-z0-9]{38}"),
    ("elastic-key", "essu_", "[A-Za-z0-9_-]{60,}"),
    ("grafana-cloud-token", "glc_", "[A-Za-z0-9+/]{32,}"),
    ("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}"),
    ("dynatrace-token", r"dt0[a-z][0-9]{2}\.", r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    ("new-relic-key", "NR(?:AK|RA|II|JS)-", "[A-Za-z0-9_-]{19,}"),
    ("sentry-org-token", "sntrys_eyJ", "[A-Za-z0-9+/=_]{60,}"),
    ("sentry-token", "sntryu_", "[0-9a-f]{64}"),
    ("posthog-key", "phx_", "[A-Za-z0-9_-]{40,}"),
    ("prefect-key", "pn[ub]_", "[A-Za-z0-9]{36}"),
    # messages, mail, money
    ("slack-token", "xox[abcdeoprs]", r"(?:\.xox[bp])?-[A-Za-z0-9%/+-]{16,}"),
    ("slack-app-token", "xapp-[0-9]-", "[A-Z0-9]+-[0-9]+-[a-z0-9]{20,}"),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/", "[A-Za-z0-9+/]{40,}"),
    ("discord-webhook", r"discord(?:app)?\.com/api/webhooks/", "[0-9]{15,21}/[A-Za-z0-9_-]{60,}"),
    ("teams-webhook", r"webhook\.office\.com/webhookb2/", "[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}"),
    ("twilio-key", "SK", "[0-9a-f]{32}"),
    ("sendgrid-key", r"SG\.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    ("mailgun-key", "key-", "[0-9a-f]{32}"),
    ("mailersend-key", r"mlsn\.", "[A-Za-z0-9]{30,}"),
    ("brevo-key", "x(?:keysib|smtpsib)-", "[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("resend-key", "re_[1-9A-HJ-NP-Za-km-z]{8}_", "[1-9A-HJ-NP-Za-km-z]{24}"),
    ("stripe-key", "(?:sk|rk)_(?:live|test|prod)_", "[A-Za-z0-9]{16,}"),
    ("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/]{32,}"),
    ("square-access-token", "EAAA", "[A-Za-z0-9_-]{60}"),
    ("square-token", "sq0(?:atp|csp)-", "[A-Za-z0-9_-]{22,}"),
    ("shopify-token", "shp(?:at|ca|pa|ss|tka)_", "[0-9a-fA-F]{32}"),
    ("braintree-token", r"access_token\$(?:production|sandbox)\$", r"[a-z0-9]{16}\$[0-9a-f]{32}"),
    ("paddle-key", "pdl_(?:live|sdbx)_apikey_", "[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}"),
    ("facebook-token", "EAA[MC]", "[A-Za-z0-9]{100,}"),
    ("onesignal-key", "os_v2_(?:app|org)_", "[a-z2-7]{103}"),
    ("shippo-token", "shippo_(?:live|test)_", "[0-9a-f]{40}"),
    ("easypost-key", "EZ[AT]K", "[A-Za-z0-9]{54}"),
    ("adobe-secret", "p8e-", "[A-Za-z0-9]{32}"),
)
"""(kind, how the token begins, how it goes on). The first row that fits at a place names it."""

ANCHORED: tuple[tuple[str, str, str], ...] = (
    ("asana-token", "[0-9]{16}:[0-9a-f]{32}", "[0-9]/[0-9]{16}(?:/[0-9]{16})?:[0-9a-f]{32}"),
    (
        "aws-secret-key",
        "(?i:secret_?access_?key)",
        "(?i:(?:aws_?)?secret_?access_?key)['\"]?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}['\"]?[A-Za-z0-9/+]{40}",
    ),
    ("azure-client-secret", "[0-9]Q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("azure-devops-token", "JQQJ99", "[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{18}AZDO[A-Za-z0-9]{4}"),
    ("terraform-token", r"\.atlasv1\.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    (
        "discord-token",
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
        r"[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    ),
    ("telegram-token", "[0-9]:AA[A-Za-z0-9_-]{33}", "(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("mailchimp-key", "[0-9a-f]-us[0-9]", "[0-9a-f]{32}-us[0-9]{1,2}"),
)
"""(kind, its rare part, the whole): tokens that begin with any character, so that not every place is a beginning."""

PRIVATE_KEY = "private-key"
"""The kind of a PEM or PGP private key: found by its header and a body, over several lines."""

PRIVATE_KEY_HEADER = "-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----"
PRIVATE_KEY_TEXT = r"[A-Za-z0-9+/=\s\\\"',:>|-]*"
"""What a body is made of where no end line closes it."""

_NAMES = (
    "passwd|password|passphrase|pwd|secret|token|credential|secret_key_base|"
    "(?:api|access|account|private|signing)[_-]?key"
)
_SET_TO = r"['\"]?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}['\"]?"

REDACTED_LOW: tuple[tuple[str, str], ...] = (
    ("json-web-token", r"(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,})"),
    ("password-in-url", r"://[^\s/:@'\"<>]{0,100}:([^\s/@'\"<>${}]{3,200})@"),
    (
        "authorization-header",
        r"(?i:authorization)['\"]?[ \t]{0,4}[:=][ \t]{0,4}['\"]?(?i:bearer|basic|token)[ \t]+([A-Za-z0-9+/=._~-]{12,})",
    ),
)
"""(kind, pattern whose one group is the value): may be a sample, so it refuses nothing; it is still never written."""

COUNTED: tuple[tuple[str, str], ...] = (
    ("secret-assignment", f"(?i:{_NAMES})s?{_SET_TO}([^\\s'\"`,;<>{{}}()$\\[\\]]{{8,200}})"),
)
"""(kind, pattern whose one group is the value): counted and nothing else."""
