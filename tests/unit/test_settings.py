"""Settings come from four sources, and no junk in any of them stops a chat."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.price import Price
from recollect.errors import SettingsError
from recollect.settings import HistorySettings, ServerSettings, Settings, StorageSettings, masked
from recollect.settings.fields import FIELDS
from recollect.settings.page import page

ROOT = Path(__file__).parents[2]


def load(environ: dict[str, str] | None = None, **flags: object) -> Settings:
    return Settings.load(flags, environ or {})


def load_file(text: str, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None) -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recollect.toml")
        path.write_bytes(text.encode())
        return Settings.load(flags or {}, environ or {}, path)


def value_of(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.fixture(autouse=True)
def _no_file_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_defaults_are_those_of_the_documents() -> None:
    settings = load()
    assert (settings.history.threshold, settings.history.keep_verbatim) == (10, 6)
    assert (settings.sessions.timeout_hours, settings.sessions.max_cached) == (24, 1000)
    memory = settings.memory
    assert (memory.enabled, memory.max_per_session) == (True, 50)
    assert (memory.extraction_threshold, memory.context_limit, memory.recent_limit) == (0.3, 5, 10)
    assert (settings.archive.every_messages, settings.archive.every_minutes) == (20, 5)
    assert settings.archive.retention_days is None
    assert (settings.window.size, settings.context.format) == (20, "s4")
    assert (settings.model.url, settings.model.kind, settings.keys) == (None, "auto", {})
    assert settings.storage.sqlite_path is not None
    assert settings.storage.sqlite_path.is_absolute()
    assert settings == Settings()


def test_flags_win_over_variables_over_the_file_over_defaults() -> None:
    file = "[history]\nthreshold = 30\nkeep_verbatim = 3\n[server]\nport = 1"
    environ = {"RECOLLECT_HISTORY_THRESHOLD": "40", "RECOLLECT_SERVER_PORT": "2"}
    settings = load_file(file, environ, {"server.port": 3, "server.host": None})
    assert (settings.history.keep_verbatim, settings.history.threshold, settings.server.port) == (3, 40, 3)
    assert settings.server.host == "127.0.0.1"
    assert settings.warnings == ()


def test_the_file_in_the_working_folder_is_read_without_being_named() -> None:
    Path("recollect.toml").write_text("[context]\nformat = 's1'")
    assert load().context.format == "s1"


def test_a_variable_names_another_file(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text("redis_url = 'redis://cache:6379/1'")
    assert load({"RECOLLECT_CONFIG": str(path)}).redis_url == "redis://cache:6379/1"


def test_a_blank_variable_counts_as_not_set() -> None:
    assert load({"RECOLLECT_REDIS": " ", "RECOLLECT_CONFIG": "", "RECOLLECT_HISTORY_THRESHOLD": ""}) == Settings()


def test_each_bad_value_falls_back_with_one_warning_that_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings = load({"RECOLLECT_HISTORY_THRESHOLD": "many", "RECOLLECT_MEMORY_CONTEXT_LIMIT": "0"})
    assert (settings.history.threshold, settings.memory.context_limit) == (10, 5)
    assert len(settings.warnings) == 2
    assert [record.getMessage() for record in caplog.records] == list(settings.warnings)
    assert settings.warnings[0].startswith("RECOLLECT_HISTORY_THRESHOLD = many does not fit")


def test_each_unknown_name_gives_one_warning_with_the_nearest_known_one() -> None:
    file = "reddis_url = 'x'\n[history]\ntreshold = 5\n[memroy]\nenabled = false\nother = 1"
    settings = load_file(file, {"RECOLLECT_DATABSE": "x"}, {"server.prot": 1})
    assert settings.history.threshold == 10
    nearest = [warning.partition("did you mean ")[2].rstrip("?") for warning in settings.warnings]
    assert nearest == ["redis_url", "history.threshold", "memory", "RECOLLECT_DATABASE", "server.port"]


def test_a_group_that_is_not_a_table_gives_one_warning() -> None:
    assert len(load_file("history = 5").warnings) == 1


@pytest.mark.parametrize(
    ("flags", "kept", "size", "warned"),
    [
        ({"history.threshold": 4}, 3, 20, 0),
        ({"history.threshold": 50}, 6, 52, 0),
        ({"history.threshold": 4, "history.keep_verbatim": 6}, 3, 20, 1),
        ({"history.keep_verbatim": 10}, 6, 20, 1),
        ({"window.size": 11}, 6, 20, 1),
        ({"window.size": 12}, 6, 12, 0),
        ({"history.threshold": 40, "window.size": 41}, 6, 42, 1),
    ],
)
def test_settings_that_depend_on_each_other_are_made_to_fit(
    flags: dict[str, object], kept: int, size: int, warned: int
) -> None:
    settings = Settings.load(flags, {})
    assert (settings.history.keep_verbatim, settings.window.size) == (kept, size)
    assert len(settings.warnings) == warned


def test_the_smallest_pool_is_at_most_the_largest() -> None:
    settings = load({"RECOLLECT_STORAGE_POOL_MIN": "20"})
    assert (settings.storage.pool_min, len(settings.warnings)) == (1, 1)


@pytest.mark.parametrize(
    ("given_as", "path"),
    [
        ("sqlite:///chat.db", "chat.db"),
        ("sqlite:////var/lib/chat.db", "/var/lib/chat.db"),
        ("/var/lib/chat", "/var/lib/chat"),
        ("chat.db", "chat.db"),
        ("~/chat.db", str(Path.home() / "chat.db")),
    ],
)
def test_a_sqlite_file_may_be_named_plainly(given_as: str, path: str) -> None:
    settings = load({"RECOLLECT_DATABASE": given_as})
    assert settings.storage.sqlite_path == Path(path)
    assert settings.storage.database == f"sqlite:///{path}"


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:secret@db:5432/chat", "postgres://db/chat", "postgresql://me@/chat?host=/run/pg&port=1"],
)
def test_a_postgres_address_is_accepted(address: str) -> None:
    settings = load({"RECOLLECT_DATABASE": address})
    assert (settings.storage.database, settings.storage.sqlite_path) == (address, None)


@pytest.mark.parametrize(
    "environ",
    [
        {"RECOLLECT_DATABASE": "mysql://db/chat"},
        {"RECOLLECT_DATABASE": "db:5432/chat"},
        {"RECOLLECT_DATABASE": "postgresql://me:secret@db"},
        {"RECOLLECT_DATABASE": "postgresql:///chat"},
        {"RECOLLECT_DATABASE": "postgresql://me:secret@db:port/chat"},
        {"RECOLLECT_DATABASE": "postgresql://[db/chat"},
        {"RECOLLECT_DATABASE": "postgresql://db/ch at"},
        {"RECOLLECT_DATABASE": "sqlite:///"},
        {"RECOLLECT_DATABASE": "sqlite://chat.db"},
        {"RECOLLECT_DATABASE": "sqlite:///:memory:"},
        {"RECOLLECT_DATABASE": "sqlite:///folder/"},
        {"RECOLLECT_REDIS": "http://cache"},
        {"RECOLLECT_REDIS": "redis://"},
        {"RECOLLECT_REDIS": "redis://:secret@cache/zero"},
        {"RECOLLECT_REDIS": "unix://"},
        {"RECOLLECT_SERVER_HOST": "no host"},
        {"RECOLLECT_SERVER_HOST": "0.0.0.0"},
        {"RECOLLECT_SERVER_HOST": "::"},
        {"RECOLLECT_SERVER_HOST": "chat.example"},
        {"RECOLLECT_AUTH_MODE": "off"},
        {"RECOLLECT_AUTH_MODE": "token", "RECOLLECT_AUTH_JWT_ALGORITHM": "none"},
        {"RECOLLECT_AUTH_MODE": "token", "RECOLLECT_AUTH_JWT_ISSUER": "me"},
        {"RECOLLECT_CONFIG": "missing.toml"},
        {"RECOLLECT_CONFIG": "/"},
    ],
    ids=lambda environ: " ".join(environ.values()),
)
def test_a_wrong_setting_that_guards_data_refuses_to_start(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError) as refused:
        load(environ)
    assert "secret" not in str(refused.value)


def test_a_file_that_is_not_toml_refuses_to_start() -> None:
    with pytest.raises(SettingsError, match="not valid TOML"):
        load_file("[history")


def test_any_host_is_accepted_when_callers_need_a_token() -> None:
    assert load({"RECOLLECT_SERVER_HOST": "0.0.0.0", "RECOLLECT_AUTH_MODE": "token"}).server.host == "0.0.0.0"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_a_loopback_host_needs_no_token(host: str) -> None:
    assert load({"RECOLLECT_SERVER_HOST": host}).server.host == host


@pytest.mark.parametrize(
    "wrong",
    [
        {"history": HistorySettings(threshold=0)},
        {"history": HistorySettings(threshold=4)},
        {"history": HistorySettings(threshold="20")},  # type: ignore[arg-type]
        {"storage": StorageSettings(database="mysql://db/chat")},
        {"server": ServerSettings(host="0.0.0.0")},
        {"redis_url": "cache"},
    ],
    ids=str,
)
def test_settings_built_in_code_are_checked_too(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Settings(**wrong)


def test_passwords_are_not_printed() -> None:
    database, cache = "postgresql://me:secret@db/chat?sslpassword=secret", "redis://:secret@cache:6379/0"
    settings = load({"RECOLLECT_DATABASE": database, "RECOLLECT_REDIS": cache})
    for printed in (repr(settings), str(settings), repr(settings.storage), str(settings.__rich_repr__())):
        assert "secret" not in printed
    assert settings.storage.database == database


@given(st.text(), st.text("abc:/@?#", min_size=1), st.text())
def test_a_masked_address_never_holds_its_password(scheme: str, password: str, rest: str) -> None:
    assert f"\0{password}\0" not in masked(f"{scheme}://me:\0{password}\0@{rest}")


def test_the_settings_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == page(), "run `make docs`"


def test_the_settings_page_documents_every_setting() -> None:
    assert all(f"| `{name}`" in page() for name in FIELDS)


PRICED = {"my-model 1.5": Price(input=0.25, output=2.0), "": Price(input=0.0, output=1_000_000.0)}


def test_prices_come_from_a_table_or_from_json() -> None:
    assert load().model.known_prices is None
    spelt = '{"my-model 1.5": {"input": 0.25, "output": 2}, "": {"input": 0, "output": 1000000}}'
    table = '[model]\ncurrency = "EUR"\n[model.prices]\n"my-model 1.5" = {input = 0.25, output = 2}\n'
    table += '"" = {input = 0, output = 1e6}'
    for settings in (
        load({"RECOLLECT_MODEL_PRICES": spelt}),
        load_file(table),
        Settings.load({"model.prices": PRICED}, {}),
    ):
        assert (settings.warnings, settings.model.prices) == ((), PRICED)
    prices = load_file(table).model.known_prices
    assert prices is not None
    assert (prices.currency, prices.of) == ("EUR", PRICED)


@pytest.mark.parametrize(
    "spelt",
    [
        "cheap",
        "[]",
        "{",
        "[" * 10_000,
        '{"m": 1}',
        '{"m": {"input": 1}}',
        '{"m": {"input": -1, "output": 1}}',
        '{"m": {"input": 1, "output": 1e9}}',
        '{"m": {"input": 1, "output": 1, "currency": "EUR"}}',
    ],
)
def test_prices_that_cannot_be_used_leave_none_with_a_warning(spelt: str) -> None:
    settings = load({"RECOLLECT_MODEL_PRICES": spelt})
    assert (len(settings.warnings), settings.model.known_prices) == (1, None)
    assert load_file("[model.prices]\nm = {input = nan, output = 1}").model.known_prices is None


VALID: dict[str, st.SearchStrategy[Any]] = {
    "history.threshold": st.integers(7, 18),
    "history.keep_verbatim": st.integers(1, 6),
    "history.delete_originals": st.booleans(),
    "history.propagate_errors": st.booleans(),
    "sessions.timeout_hours": st.floats(0.001, 87_600),
    "sessions.max_cached": st.integers(1, 10_000_000),
    "memory.enabled": st.booleans(),
    "memory.max_per_session": st.integers(1, 100_000),
    "memory.extraction_threshold": st.floats(0, 1),
    "memory.context_limit": st.integers(1, 1000),
    "archive.retention_days": st.integers(1, 36_500),
    "window.size": st.integers(20, 10_000),
    "context.format": st.sampled_from(["s4", "s1"]),
    "model.kind": st.sampled_from(["auto", "openai", "anthropic", "gemini", "none"]),
    "model.first_token_timeout_seconds": st.floats(0.001, 3600),
    "model.max_retries": st.integers(0, 10),
    "model.breaker_failures": st.integers(1, 1000),
}


@given(values=st.fixed_dictionaries({}, optional=VALID), source=st.sampled_from(["flags", "environ", "file"]))
def test_p22_a_configured_value_is_used_instead_of_the_default(values: dict[str, Any], source: str) -> None:
    if source == "flags":
        settings = Settings.load(values, {})
    elif source == "environ":
        settings = load({FIELDS[name].variable: str(value) for name, value in values.items()})
    else:
        settings = load_file("\n".join(f"{name} = {str(value).lower()!r}" for name, value in values.items()))
    assert settings.warnings == ()
    for name, field in FIELDS.items():
        assert value_of(settings, name) == values.get(name, field.default)


# Undecodable bytes of the environment arrive as lone surrogates, which the default alphabet leaves out.
any_text = st.text(st.characters(), max_size=20)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    any_text,
    st.binary(max_size=5),
    st.just(10**400),
)
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))
names = st.sampled_from(sorted(FIELDS)) | any_text
variables = st.sampled_from(sorted(field.variable for field in FIELDS.values())) | any_text.map(
    lambda text: f"RECOLLECT_{text}"
)
toml_values = st.one_of(
    st.booleans().map(lambda value: str(value).lower()),
    st.integers().map(str),
    st.floats().map(lambda value: repr(value).replace("e", ".0e") if "." not in repr(value) else repr(value)),
    st.sampled_from(
        [
            "'s1'",
            "'x'",
            "''",
            "[]",
            "[1, 'a']",
            "{a = 1}",
            "1979-05-27T07:32:00Z",
            "nan",
            "-inf",
            "9" * 5000,
            "0x" + "f" * 5000,
        ]
    ),
)
toml_names = st.sampled_from(sorted(FIELDS)) | st.from_regex(r"[a-z_]{1,12}(\.[a-z_]{1,12})?", fullmatch=True)


def load_or_refuse(text: str, environ: dict[str, str], flags: dict[str, object]) -> None:
    """Load junk; the constructor of Settings checks every value, so having one proves that it is valid."""
    try:
        settings = load_file(text, environ, flags)
    except SettingsError:
        return
    assert len(set(settings.warnings)) == len(settings.warnings)
    assert len(settings.warnings) <= len(environ) + len(flags) + text.count("\n") + 1


@pytest.mark.spec("P23")
@given(environ=st.dictionaries(variables, any_text), flags=st.dictionaries(names, junk))
def test_p23_junk_in_the_environment_and_flags_falls_back_or_refuses(
    environ: dict[str, str], flags: dict[str, object]
) -> None:
    load_or_refuse("", environ, flags)


@pytest.mark.spec("P23")
@given(values=st.dictionaries(toml_names, toml_values, max_size=8))
def test_p23_junk_in_the_file_falls_back_or_refuses(values: dict[str, str]) -> None:
    load_or_refuse("\n".join(f"{name} = {value}" for name, value in values.items()), {}, {})


@pytest.mark.spec("P23")
@given(text=st.text())
def test_p23_a_file_of_anything_falls_back_or_refuses(text: str) -> None:
    load_or_refuse(text, {}, {})


@pytest.mark.spec("P23")
@given(name=st.sampled_from(sorted(name for name, field in FIELDS.items() if not field.guards)), value=junk)
def test_p23_one_bad_value_gives_the_default_and_one_warning(name: str, value: object) -> None:
    settings = Settings.load({name: value}, {})
    if settings.warnings:
        assert value_of(settings, name) == FIELDS[name].default
        assert len(settings.warnings) == 1
