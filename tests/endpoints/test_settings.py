"""Settings files: every problem at once, with its place and a fix, and never with a key."""

from __future__ import annotations

import pytest

from deconfound.endpoints.endpoint import Endpoint, key_problem
from deconfound.errors import DataError
from deconfound.replaying.models_template import TEMPLATE
from deconfound.replaying.replay_models import read_models
from tests.support.replay_files import KEY, model, write_settings

URL = "http://127.0.0.1:8080/v1"


def problems(path):
    with pytest.raises(DataError) as caught:
        read_models(path)
    return [str(problem) for problem in caught.value.problems]


def problems_of(tmp_path, *tables, endpoint="", url=URL):
    return problems(write_settings(tmp_path, url, *tables, endpoint=endpoint))


def test_the_template_is_valid(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(TEMPLATE, encoding="utf-8")
    assert [one.name for one in read_models(path).models] == ["summary", "short", "lead3"]


def test_everything_in_a_file_is_read(tmp_path):
    more = 'api = "openai"\nkey_env = "MY_KEY"\nconnect_timeout = 1\nread_timeout = 2\ntotal_timeout = 3\nattempts = 4'
    more += '\npatience = 5\nconcurrency = 6\nheaders = { X-Team = "blue" }'
    settings = 'system = "s"\nprompt = "<{context}>"\ntemperature = 0.5\nmax_tokens = 7\nstop = "END"\nseed = 3'
    settings += "\nprice_input = 1\nprice_output = 2\nparameters = { logit_bias = { 5 = -1 } }"
    path = write_settings(tmp_path, URL, model("a", settings), endpoint=more)
    chat = read_models(path).asked[0].chat
    assert chat.parameters == {"temperature": 0.5, "max_tokens": 7, "stop": ["END"], "logit_bias": {"5": -1}}
    assert (chat.system, chat.seed, chat.price.output) == ("s", 3, 2)
    assert (chat.endpoint.attempts, chat.endpoint.patience, chat.endpoint.concurrency) == (4, 5, 6)
    assert chat.endpoint.sent_headers == (("X-Team", "blue"),)
    assert chat.endpoint.timeouts.total == 3


def test_all_problems_are_reported_at_once(tmp_path):
    found = problems_of(
        tmp_path,
        model("a", "temprature = 1"),
        '[models.b]\nendpoint = "remote"\nmodel = "m"',
        '[models.c]\nendpoint = "local"',
        model("d", 'prompt = "no place"'),
        model("e", "max_tokens = 0"),
        '[models.f]\nbaseline = "leed"',
        model("A"),
        "[prompts.x]",
        endpoint="timeout = 5",
    )
    text = "\n".join(found)
    for part in (
        '[models.a]: there is no setting "temprature". Did you mean "temperature"? The',
        '[models.b]: there is no endpoint "remote"',
        "[models.c]: model is missing",
        "[models.d]: prompt has no {context}",
        "[models.e]: max_tokens 0 is outside 1 to",
        '[models.f]: baseline "leed" is unknown. Did you mean "lead"? Write',
        'models "a" and "A" differ only in case',
        'there is no table "prompts"',
        '[endpoints.local]: there is no setting "timeout"',
    ):
        assert part in text


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ('prompt = "Summarize {contxt}"', 'so every context would get the same prompt. Did you mean "context"? Write'),
        ('system = "About {context}"', "system contains {context}"),
        ('prompt = ""', "prompt is empty"),
        ("prompt = 5", "prompt is not a text"),
        ('temperature = "hot"', "temperature is not a number"),
        ("temperature = nan", "temperature is not a number"),
        ("temperature = true", "temperature is not a number"),
        ("temperature = 99", "temperature 99 is outside 0 to 10"),
        ("max_tokens = 1.5", "max_tokens 1.5 is not a whole number"),
        ("price_input = 1", "only one of price_input and price_output is given"),
        ("price_input = -1\nprice_output = 1", "price_input -1 is outside"),
        ("parameters = { stream = true }", "the parameter stream cannot stand in parameters"),
        ("parameters = { n = 3 }", "--draws"),
        ("parameters = { x = nan }", "the parameter x cannot be sent as JSON"),
        ("parameters = { x = 2026-05-01 }", "the parameter x cannot be sent as JSON"),
        ("parameters = 3", "parameters is not a table"),
        ("stop = [1]", "stop is not a list of texts"),
        ('baseline = "lead"', 'there is no setting "endpoint"'),
    ],
)
def test_faults_of_a_model(tmp_path, settings, what):
    assert what in "\n".join(problems_of(tmp_path, model("a", settings)))


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8080",
        "ftp://host/v1",
        "http://",
        "http://host:99999/v1",
        "http://host/v1/chat/completions",
        "http://ho st/v1",
        "http://user:secret-password@host/v1",
        "https://host/v1?key=secret-password",
        "https://host/v1?api-key=secret-password",
        "http://host\x00/v1".encode("unicode_escape").decode().replace("\\x00", "\\u0000"),
    ],
)
def test_addresses_that_cannot_be_called_are_refused_without_repeating_them(tmp_path, url):
    found = problems_of(tmp_path, model("a"), url=url)
    assert any("url" in one for one in found)
    assert "secret-password" not in "\n".join(found)


@pytest.mark.parametrize(
    ("endpoint", "settings"),
    [
        (f'key = "{KEY}"', ""),
        (f'api_key = "{KEY}"', ""),
        (f'key_env = "{KEY}"', ""),
        (f'token = "{KEY[3:]}"', ""),
        (f'headers = {{ Authorization = "Bearer {KEY}" }}', ""),
        (f'headers = {{ X-Other = "{KEY}" }}', ""),
        (f'headers = {{ x-api-key = "{KEY[3:]}" }}', ""),
        ("", f'api_key = "{KEY}"'),
        ("", f'system = "use {KEY}"'),
        ("", f'parameters = {{ user = "{KEY}" }}'),
        ("", f'parameters = {{ api_key = "{KEY[3:]}" }}'),
        ("", f'parameters = {{ extra_headers = {{ Authorization = "{KEY[3:]}" }} }}'),
        ("", f'parameters = {{ tools = [{{ server = {{ auth_token = "{KEY[3:]}" }} }}] }}'),
        (f"key_env = {KEY}", ""),  # no TOML at all
    ],
)
def test_a_key_in_the_file_is_refused_and_never_repeated(tmp_path, endpoint, settings):
    text = "\n".join(problems_of(tmp_path, model("a", settings), endpoint=endpoint))
    assert KEY[3:] not in text


def test_the_key_of_the_environment_is_found_whatever_it_looks_like(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "correct horse battery")
    settings = model("a", 'system = "The password is correct horse battery."')
    (found,) = problems_of(tmp_path, settings, endpoint='key_env = "MY_KEY"')
    assert "models.toml models.a.system: this looks like a key" in found
    assert "horse" not in found


def test_a_variable_has_a_name_in_capitals(tmp_path):
    """What is written there may be the key itself, so it is not repeated."""
    (found,) = problems_of(tmp_path, model("a"), endpoint='key_env = "hunter2secret"')[:1]
    assert "key_env is not the name of an environment variable" in found
    assert "hunter2secret" not in found


def test_a_table_that_stands_twice_is_an_error_with_its_line(tmp_path):
    text = "\n".join(problems_of(tmp_path, model("a"), model("a")))
    assert "a name is given twice (at line" in text


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "there are no models"),
        (b"models = 3", "there are no models"),
        (b"[models]\na = 3", "[models.a]: this is not a table"),
        (b"endpoints = 3\n[models.a]\nbaseline='copy'", "endpoints is not a table"),
        (b"\xff", "not UTF-8"),
        (b"x = [", "no valid TOML: "),
        (b"x = abc", "the value is none of TOML; texts need quotes (at line 1, column 5)"),
        (b"x = 'abc", "a text has no quote at its end"),
        (b"x 3", "there is no = after a name (at line 1, column 3)"),
        (b"x = " + b"9" * 5000, "too many digits"),
        (b"x = " + b"[" * 5000, "nested too deeply"),
        (b"# " + b"x" * 1_100_000, "at most 1 MB"),
    ],
)
def test_files_that_are_no_settings(tmp_path, content, what):
    path = tmp_path / "models.toml"
    path.write_bytes(content)
    assert what in "\n".join(problems(path))


def test_a_missing_file_and_a_folder(tmp_path):
    assert "cannot be opened" in problems(tmp_path / "absent.toml")[0]
    assert "not an ordinary file" in problems(tmp_path)[0]


def test_anthropic_needs_a_limit_and_has_other_names(tmp_path):
    found = problems_of(tmp_path, model("a", "seed = 1"), endpoint='api = "anthropic"')
    assert len(found) == 2
    path = write_settings(tmp_path, URL, model("a", "max_tokens = 5", 'stop = "X"'), endpoint='api = "anthropic"')
    chat = read_models(path).asked[0].chat
    assert chat.parameters == {"max_tokens": 5, "stop_sequences": ["X"]}
    assert chat.endpoint.call_url == f"{URL}/messages"
    assert chat.endpoint.sent_headers == (("anthropic-version", "2023-06-01"),)


def test_keys_come_from_the_environment_in_the_header_of_the_interface(monkeypatch):
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    assert Endpoint("a", URL, key_env="MY_KEY").key_headers() == {"Authorization": f"Bearer {KEY}"}
    assert Endpoint("a", URL, api="anthropic", key_env="MY_KEY").key_headers() == {"x-api-key": KEY}
    assert Endpoint("a", URL, key_env="MY_KEY", key_header="api-key").key_headers() == {"api-key": KEY}
    assert Endpoint("a", URL).key_headers() == {}
    monkeypatch.setenv("MY_KEY", "")
    assert "MY_KEY is not set" in str(key_problem(Endpoint("a", URL, key_env="MY_KEY")))
    monkeypatch.setenv("MY_KEY", "two\nlines")
    assert "two" not in str(key_problem(Endpoint("a", URL, key_env="MY_KEY")))


def test_the_query_of_an_address_stays_at_its_end():
    assert Endpoint("a", "https://h/o/d?api-version=1").call_url == "https://h/o/d/chat/completions?api-version=1"


def test_a_schema_may_have_a_property_with_the_name_of_a_key(tmp_path):
    """Only texts can be keys; a property of a schema is a table."""
    schema = 'parameters = { response_format = { properties = { token = { type = "string" } } } }'
    (found,) = read_models(write_settings(tmp_path, URL, model("a", schema))).asked
    assert "response_format" in found.chat.parameters


@pytest.mark.parametrize(
    ("url", "is_readable"),
    [
        ("http://models.example/v1", True),
        ("http://10.0.0.7:4000/v1", True),
        ("https://models.example/v1", False),
        ("http://127.0.0.1:8080/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://localhost:8080/v1", False),
    ],
)
def test_a_key_that_others_on_the_way_can_read_is_known(monkeypatch, url, is_readable):
    monkeypatch.setenv("MY_KEY", "sk-something")
    assert Endpoint("a", url, key_env="MY_KEY").sends_key_readable == is_readable
    assert not Endpoint("a", url).sends_key_readable


@pytest.mark.parametrize("kind", ["endpoints", "models"])
def test_a_blank_name_is_no_name(tmp_path, kind):
    table = {"endpoints": '[endpoints." "]\nurl = "http://127.0.0.1:9/v1"', "models": '[models." "]\nbaseline = "copy"'}
    found = problems_of(tmp_path, model("a"), table[kind])
    assert any("the name is blank" in one for one in found)
