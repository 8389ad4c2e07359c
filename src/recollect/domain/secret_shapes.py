"""The shapes of secrets: what their makers print before them, and what people write before a password.

Each pattern of a run without bound begins behind a look-back that keeps it from beginning inside the run.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that is known by itself; only a text with one of the hints is looked at."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    #: Only what looks drawn by chance: a word may begin like this.
    random: bool = False


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that is known by the words before it."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Literal["password", "token", "any"]


def _token(kind: str, prefix: str, body: str, *, random: bool = False) -> Shape:
    """Return the shape of tokens with one of these prefixes, divided by bars."""
    hints = tuple(re.sub(r"\\(.)", r"\1", one).lower() for one in prefix.split("|"))
    pattern = re.compile(rf"(?<![\w-])(?:{prefix}){body}", re.ASCII)
    return Shape(kind=kind, hints=hints, pattern=pattern, random=random)


def _shape(kind: str, hints: str, pattern: str, flags: re.RegexFlag = re.ASCII) -> Shape:
    return Shape(kind=kind, hints=tuple(hints.split()), pattern=re.compile(pattern, flags))


_RUN = r"[\w-]{16,}+"

SHAPES: tuple[Shape, ...] = (
    _shape(
        "private key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        re.DOTALL,
    ),
    _shape("private key", "private-lines", r"Private-Lines: \d{1,4}\s(?:[A-Za-z0-9+/=]{1,80}\s?){1,200}"),
    _token("private key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"),
    _token("recollect key", "rk_", r"[\w-]{30,}+", random=True),
    _token("anthropic key", "sk-ant-", _RUN),
    _token("openrouter key", "sk-or-", _RUN),
    _token("openai key", "sk-proj-|sk-svcacct-|sk-admin-", _RUN),
    _token("api key", "sk-", r"[\w-]{20,}+", random=True),
    _token("aws key", "AKIA|ASIA|ABIA|ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("github token", "ghp_|gho_|ghu_|ghs_|ghr_", r"[A-Za-z0-9]{30,}+"),
    _token("github token", "github_pat_", r"\w{22,}+"),
    _token("gitlab token", "glpat-|gldt-|glrt-|glptt-|glsoat-", _RUN),
    _token("slack token", "xoxa-|xoxb-|xoxo-|xoxp-|xoxs-|xoxr-|xoxe-|xapp-", r"[A-Za-z0-9-]{10,}+"),
    _shape("slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?P<secret>(?:services|workflows)/[\w/]{20,}+)"),
    _token("stripe key", "sk_live_|sk_test_|rk_live_|rk_test_|pk_live_|whsec_", r"[A-Za-z0-9+/=]{16,}+"),
    _token("google key", "AIza", r"[\w-]{35}"),
    _token("google secret", "GOCSPX-", r"[\w-]{20,}+"),
    _token("google token", r"ya29\.", r"[\w-]{20,}+"),
    _shape("azure key", "accountkey= sharedaccesskey=", r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[\w+/]{20,}+=*)"),
    _shape("azure signature", "sig=", r"[?&;]sig=(?P<secret>[\w%+/-]{20,}+=*)"),
    _shape("azure secret", "8q~", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{30,}+"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{30,}+"),
    _token("pypi token", "pypi-", r"[\w-]{40,}+"),
    _token("sendgrid key", r"SG\.", r"[\w-]{16,30}\.[\w-]{30,}+"),
    _token("twilio key", "SK|AC", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _token("hugging face token", "hf_|api_org_", r"[A-Za-z0-9]{30,}+"),
    _shape("telegram token", ":", r"(?<![\w:-])\d{8,10}:[\w-]{35}(?![\w-])"),
    _shape("discord token", ".", r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+"),
    _shape("discord webhook", "api/webhooks/", r"/api/webhooks/(?P<secret>\d{10,20}/[\w-]{20,}+)"),
    _shape("jwt", "eyj", r"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]*+"),
    _token("digitalocean token", "dop_v1_|doo_v1_|dor_v1_", r"[a-f0-9]{32,}+"),
    _token("shopify token", "shpat_|shpca_|shppa_|shpss_", r"[A-Fa-f0-9]{32}"),
    _token("mailgun key", "key-", r"[0-9a-f]{32}(?![\w-])"),
    _shape("mailchimp key", "-us", r"(?<![\w-])[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    _token("databricks token", "dapi", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _token("linear key", "lin_api_|lin_oauth_", r"[A-Za-z0-9]{20,}+"),
    _token("notion token", "ntn_", r"[A-Za-z0-9]{30,}+"),
    _token("notion token", "secret_", r"[A-Za-z0-9]{40,}+"),
    _token("postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("doppler token", r"dp\.pt\.|dp\.st\.|dp\.sa\.|dp\.ct\.", r"[\w.-]{30,}+"),
    _token("grafana token", "glsa_|glc_", r"[\w+/=]{20,}+"),
    _token("new relic key", "NRAK-|NRJS-|NRII-", r"[A-Za-z0-9-]{19,}+"),
    _token("sentry token", "sntrys_|sntryu_", r"[\w+/=-]{30,}+"),
    _token("vault token", r"hvs\.|hvb\.", r"[\w-]{20,}+"),
    _token("square token", "sq0atp-|sq0csp-|sq0idp-|EAAAE", r"[\w-]{20,}+"),
    _token("groq key", "gsk_", r"[A-Za-z0-9]{30,}+"),
    _token("replicate token", "r8_", r"[A-Za-z0-9]{30,}+"),
    _token("perplexity key", "pplx-", r"[A-Za-z0-9]{30,}+"),
    _token("xai key", "xai-", r"[A-Za-z0-9]{30,}+"),
    _token("airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("supabase token", "sbp_", r"[0-9a-f]{40}"),
    _token("planetscale token", "pscale_tkn_|pscale_pw_", r"[\w.-]{30,}+"),
    _token("figma token", "figd_", r"[\w-]{30,}+"),
    _token("heroku key", "HRKU-", r"[\w-]{30,}+"),
    _token("atlassian token", "ATATT3|ATBB", r"[\w=-]{24,}+"),
    _token("docker token", "dckr_pat_", r"[\w-]{20,}+"),
    _shape("password in a url", "://", r"(?<=\w)://[^\s/:@]{0,100}:(?P<secret>(?!\[redacted)[^\s/@]{1,200})(?=@)"),
    _shape("bearer token", "bearer", r"(?i)\bbearer\s{1,3}(?P<secret>(?=[\w.~+/-]*\d)[\w.~+/-]{16,}+=*)"),
    _shape(
        "basic auth", "basic", r"(?i)\bauthorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?basic\s{1,3}(?P<secret>[\w+/]{8,}+=*)"
    ),
)

#: What a password is called, in the languages that the built-in rules know, and more.
_LOGIN_WORDS = (
    "password|passwd|pwd|passwort|kennwort|mot de passe|contraseña|contrasena|parola d'ordine|senha|palavra-passe|"
    "passphrase|passcode|wachtwoord|lösenord|hasło|пароль|密码|密碼|口令|パスワード|비밀번호"
)
_ACCESS_WORDS = (
    r"api[ _-]?key|api[ _-]?token|secret[ _-]?(?:access[ _-]?)?key|access[ _-]?key(?:[ _-]?id)?|access[ _-]?token|"
    r"auth[ _-]?token|refresh[ _-]?token|client[ _-]?secret|app[ _-]?secret|private[ _-]?key|secret|token|"
    r"api-schlüssel|clé api|clave api|chiave api|chave api|ключ api|апи ключ|密钥|金鑰|apiキー"
)
#: What stands between the name and the value.
_LINK = (
    r"(?P<link>[\"']?\s{0,3}(?::=|=>|[:=：]|\b(?:is|ist|lautet|est|es|è|é)\b\s{0,2}:?|(?:-|–|—|это)(?=\s)|[是为為は]|은|는)"
    r"\s{0,3})"
)
_NAMES = r"(?:[ _-]?(?:is|for|to|of|für|pour|para|per|от|для)\s\w{1,30}(?:\s\w{1,30}){0,2}?)?"

PHRASES: tuple[Phrase, ...] = (
    Phrase(
        kind="password",
        hints=tuple(_LOGIN_WORDS.split("|")),
        pattern=re.compile(
            rf"(?i)(?<![A-Za-z0-9À-ɏЀ-ӿ])(?:{_LOGIN_WORDS}){_NAMES}{_LINK}[\"'“‘«「`]?(?P<secret>[^\s\"'”’»」`,;，。]{{4,100}}(?<![.?]))"
        ),
        check="password",
    ),
    Phrase(
        kind="key",
        hints=(
            "key",
            "token",
            "secret",
            "schlüssel",
            "clé",
            "clave",
            "chiave",
            "chave",
            "ключ",
            "密钥",
            "金鑰",
            "キー",
        ),
        pattern=re.compile(
            rf"(?i)(?<![A-Za-z0-9À-ɏЀ-ӿ])(?:{_ACCESS_WORDS}){_NAMES}{_LINK}[\"'“`]?(?P<secret>(?!\[redacted)[\w+/=.~-]{{8,200}}(?<![.]))"
        ),
        check="token",
    ),
    Phrase(
        kind="pin",
        hints=("pin", "cvv", "cvc"),
        pattern=re.compile(
            rf"(?i)(?<!\w)(?:pin|pin code|cvv|cvc){_NAMES}{_LINK}(?P<secret>\d{{3,8}})(?![\d.,:/-]\d|\d)"
        ),
        check="any",
    ),
)
