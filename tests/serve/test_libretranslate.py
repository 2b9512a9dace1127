"""LibreTranslate's API over a real connection, and its own client against it."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest
from libretranslatepy import LibreTranslateAPI

from pellucid.decode.translation import Translation
from pellucid.decode.translator import Translator, load

CAT, DOG = "the cat sat on the mat", "a dog ran to the house"
EN_DE = {"source": "en", "target": "de"}


def expected(translator: Translator, text: str, source: str = "en", target: str = "de", n_best: int = 1) -> Translation:
    translation = translator.translate(text, source, target, n_best=n_best)
    assert isinstance(translation, Translation)
    return translation


def test_the_client_of_libretranslate(shared: Any, translator: Translator) -> None:
    client = LibreTranslateAPI(shared.url)
    assert client.translate(CAT, "en", "de") == expected(translator, CAT).text
    assert client.translate("die Katze & <b>", "de", "en") == expected(translator, "die Katze & <b>", "de", "en").text
    assert client.translate(CAT, "auto", "de") == expected(translator, CAT).text
    [first, *_] = client.detect(CAT)
    assert first["language"] == "en"
    assert 50 < first["confidence"] <= 100
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": ["en"]},
    ]
    with pytest.raises(HTTPError, match="400") as refused:
        client.translate(CAT, "en", "xx")
    refused.value.close()


def test_a_list_gives_lists(shared: Any, translator: Translator) -> None:
    answer = shared.post("/translate", {"q": [CAT, DOG, ""], **EN_DE}).json
    assert answer == {"translatedText": [expected(translator, text).text for text in (CAT, DOG, "")]}


def test_auto_tells_what_was_detected(shared: Any) -> None:
    answer = shared.post("/translate", {"q": CAT, "source": "auto", "target": "de"}).json
    assert answer["detectedLanguage"]["language"] == "en"
    assert 50 < answer["detectedLanguage"]["confidence"] <= 100
    answer = shared.post("/translate", {"q": [CAT, DOG], "source": "auto", "target": "de"}).json
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "en"]


def test_alternatives(shared: Any, translator: Translator) -> None:
    best = expected(translator, CAT, n_best=4)
    answer = shared.post("/translate", {"q": CAT, **EN_DE, "alternatives": 3}).json
    assert answer["translatedText"] == best.text
    assert answer["alternatives"] == list(dict.fromkeys(other.text for other in best.alternatives))
    answer = shared.post("/translate", {"q": [CAT, DOG], **EN_DE, "alternatives": "1"}).json
    assert [len(each) for each in answer["alternatives"]] == [1, 1]
    assert "alternatives" not in shared.post("/translate", {"q": CAT, **EN_DE, "alternatives": 0}).json


def test_json_forms_and_query_say_the_same(shared: Any, translator: Translator) -> None:
    values = {"q": "die Katze\nam Fluß 😀 + & =", "source": "de", "target": "en"}
    answers = [shared.post("/translate", values), shared.form("/translate", values)]
    answers.append(shared.send("POST", f"/translate?{urlencode(values)}"))
    parts = "".join(
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in values.items()
    )
    kind = {"Content-Type": "multipart/form-data; boundary=edge"}
    answers.append(shared.send("POST", "/translate", f"{parts}--edge--\r\n".encode(), kind))
    kind = {"Content-Type": "application/json; charset=utf-8"}
    answers.append(
        shared.send("POST", "/translate?source=xx&target=en&q=no", '{"q": "' + CAT + '", "source": "de"}', kind)
    )
    assert [answer.status for answer in answers] == [200] * 5
    text = expected(translator, values["q"], "de", "en").text
    assert [answer.json["translatedText"] for answer in answers[:4]] == [text] * 4
    assert answers[4].json["translatedText"] == expected(translator, CAT, "de", "en").text
    two = shared.form("/translate", {"q": [CAT, DOG], **EN_DE}).json["translatedText"]
    assert two == [expected(translator, text).text for text in (CAT, DOG)]


def test_html_keeps_its_tags(shared: Any, translator: Translator) -> None:
    cat, dog = (expected(translator, text).text for text in ("the cat & <i>", "a dog"))
    source = '<p class="a">the cat &amp; &lt;i&gt;</p><b>a dog</b><script>the("cat")</script><!-- the cat -->'
    wanted = f'<p class="a">{escaped(cat)}</p><b>{escaped(dog)}</b><script>the("cat")</script><!-- the cat -->'
    request = {"q": source, **EN_DE, "format": "html"}
    assert shared.post("/translate", request).json == {"translatedText": wanted}
    answer = shared.post("/translate", {**request, "q": [source, "<br>"], "alternatives": 2}).json
    assert answer["translatedText"] == [wanted, "<br>"]
    assert all(text.endswith('</b><script>the("cat")</script><!-- the cat -->') for text in answer["alternatives"][0])
    assert answer["alternatives"][1] == []


def test_a_sentence_with_tags_is_translated_whole(shared: Any, translator: Translator) -> None:
    request = {**EN_DE, "format": "html", "alternatives": 2}
    answer = shared.post("/translate", {"q": "<p>the <b>cat</b> &amp; <i>a dog</i></p>", **request}).json
    plain = translator.translate("the cat & a dog", "en", "de", n_best=3, beam=5)
    assert isinstance(plain, Translation)
    for found, wanted in (
        (answer["translatedText"], plain),
        *zip(answer["alternatives"], plain.alternatives, strict=False),
    ):
        assert unescape(re.sub(r"<[^>]*>", "", found)) == wanted.text
        assert sorted(re.findall(r"<[^>]*>", found)) == sorted(["<p>", "<b>", "</b>", "<i>", "</i>", "</p>"])


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": None}, "missing q"),
        ({"q": ""}, "missing q"),
        ({"q": []}, "missing q"),
        ({"q": 7}, "string"),
        ({"q": ["a", 7]}, "string"),
        ({"q": {"a": "b"}}, "string"),
        ({"source": None}, "missing source"),
        ({"target": ""}, "missing target"),
        ({"source": "xx"}, "'xx'"),
        ({"target": "xx"}, "'xx'"),
        ({"target": ["de"]}, "target"),
        ({"target": "en"}, "does not translate en into en"),
        ({"format": "pdf"}, "'pdf'"),
        ({"format": 3}, "format"),
        ({"alternatives": "many"}, "alternatives"),
        ({"alternatives": 6}, "at most 5"),
        ({"q": "x" * 10_001}, "10001 characters"),
        ({"q": ["x" * 5_001] * 2}, "10002 characters"),
        ({"q": ["x"] * 101}, "101 texts"),
        ({"source": None, "format": "pdf"}, "missing source: language code of the text, or auto\nformat: 'pdf'"),
    ],
)
def test_what_is_wrong_is_reported(shared: Any, change: dict[str, Any], message: str) -> None:
    answer = shared.post("/translate", {"q": CAT, **EN_DE, **change})
    assert answer.status == 400
    assert message in answer.json["error"]
    assert list(answer.json) == ["error"]


MULTIPART = "multipart/form-data; boundary=edge"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b'{"q": NaN}', "application/json", 400),
        (b"[" * 50_000, "application/json", 400),
        (b'{"q": "\xff"}', "application/json", 400),
        (b"q=m\xfcde&source=de&target=en", "application/x-www-form-urlencoded", 400),
        (b"q=m%fcde&source=de&target=en", "application/x-www-form-urlencoded", 400),
        (b"q=a&" * 2000, "application/x-www-form-urlencoded", 400),
        (b"no parts", "multipart/form-data; boundary=edge", 400),
        (b"no parts", "multipart/form-data", 400),
        (b'--edge\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--edge--\r\n', MULTIPART, 400),
        (b'--edge\r\nContent-Disposition: form-data; name="q"; filename="a"\r\n\r\na\r\n--edge--\r\n', MULTIPART, 400),
        # A careless reader of heads would be busy with these for minutes, or run out of stack.
        (b"--edge\r\nContent-Disposition: form-data" + b";" * 200_000 + b"\r\n\r\na\r\n--edge--\r\n", MULTIPART, 400),
        (
            b"--edge\r\nContent-Disposition: form-data; name=" + b"(" * 9_000 + b"\r\n\r\na\r\n--edge--\r\n",
            MULTIPART,
            400,
        ),
        (b"q=a", "text/plain", 415),
        (b"\x00\xff", "", 415),
    ],
)
def test_bodies_that_cannot_be_read(shared: Any, body: bytes, kind: str, status: int) -> None:
    answer = shared.send("POST", "/translate", body, {"Content-Type": kind} if kind else {})
    assert answer.status == status
    assert answer.json["error"]


def test_detect(shared: Any) -> None:
    found = shared.form("/detect", {"q": "die Katze am Fluss"}).json
    assert found[0]["language"] == "de"
    assert sum(each["confidence"] for each in found) == pytest.approx(100, abs=0.2)
    assert all(set(each) == {"confidence", "language"} for each in found)
    assert shared.post("/detect", {}).status == 400


def test_other_endpoints(shared: Any) -> None:
    assert shared.get("/health").json == {"status": "ok"}
    settings = shared.get("/frontend/settings").json
    assert settings["charLimit"] == 10_000
    assert settings["keyRequired"] is False
    assert settings["language"]["target"]["code"] in ("en", "de")
    spec = shared.get("/spec").json
    assert {"/translate", "/detect", "/languages", "/health", "/api/translate", "/api/stream"} <= set(spec["paths"])
    for method, path, status in (
        ("POST", "/languages", 405),
        ("GET", "/translate", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/docs", 404),
        ("GET", "/translate/", 404),
    ):
        answer = shared.send(method, path)
        assert answer.status == status
        assert list(answer.json) == ["error"]
        assert "/spec" in answer.json["error"]
    for path in ("/", "/health"):  # what monitors ask
        answer = shared.send("HEAD", path)
        assert (answer.status, answer.body) == (200, b"")


def test_a_number_without_end_is_no_number_of_alternatives(shared: Any) -> None:
    body = json.dumps({"q": CAT, **EN_DE})[:-1] + ', "alternatives": 1e999}'
    assert shared.send("POST", "/translate", body, {"Content-Type": "application/json"}).status == 400


@pytest.mark.parametrize(("source", "target"), [("EN", "DE"), ("en-US", "de_AT")])
def test_languages_may_be_written_otherwise(shared: Any, translator: Translator, source: str, target: str) -> None:
    answer = shared.post("/translate", {"q": CAT, "source": source, "target": target}).json
    assert answer == {"translatedText": expected(translator, CAT, "en", "de").text}


def test_a_model_without_codes_has_a_source_and_a_target(serve: Any, model_without_codes: Any) -> None:
    translator = load(model_without_codes)
    client = LibreTranslateAPI(serve(translator).url)
    assert [language["code"] for language in client.languages()] == ["source", "target"]
    translation = translator.translate(CAT)
    assert isinstance(translation, Translation)
    assert client.translate(CAT, "source", "target") == client.translate(CAT, "auto", "target") == translation.text
    assert client.detect(CAT) == [{"confidence": 100.0, "language": "source"}]
    with pytest.raises(HTTPError, match="400") as refused:
        client.translate(CAT, "en", "target")
    refused.value.close()


@pytest.mark.parametrize("text", ["\ud800 cat", "\x00", "<script>alert(1)</script>", "</s><2en>", "\u2028", "😀" * 50])
def test_text_of_any_kind_comes_through(shared: Any, translator: Translator, text: str) -> None:
    answer = shared.post("/translate", {"q": text, **EN_DE})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["translatedText"] == expected(translator, text).text
    assert shared.post("/translate", {"q": text, **EN_DE, "format": "html"}).status == 200
    assert shared.post("/translate", {"q": CAT, "source": "en", "target": text}).status == 400
