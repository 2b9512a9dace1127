"""The OpenAPI document describes what the service does."""

from __future__ import annotations

from typing import Any

import pytest

from pellucid.config import DecodeConfig

TEXT = {"text": "the cat"}
BODIES: dict[str, dict[str, Any]] = {
    "/translate": {"q": "the cat", "source": "en", "target": "de"},
    "/detect": {"q": "the cat"},
    "/api/translate": TEXT,
    "/api/stream": TEXT,
    "/api/explain": TEXT,
    "/api/cell": {**TEXT, "cell": "alignment.0.0"},
    "/api/worked": {"id": "W6"},
    "/api/labs/run": {"name": "lookup"},
    "/api/learning": {"run": "dates"},
}
FORMS = {"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}


@pytest.fixture
def paths(shared: Any) -> Any:
    document = shared.get("/spec").json
    assert document["openapi"] == "3.1.0"
    assert document["info"]["title"] == "Pellucid"
    return document["paths"]


def schema(paths: Any, path: str) -> Any:
    return paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]


def test_every_path_and_method_is_answered(shared: Any, paths: Any) -> None:
    operations = {(method, path) for path, methods in paths.items() for method in methods}
    assert {path for method, path in operations if method == "post"} == set(BODIES)
    for method, path in operations:
        answer = shared.get(path) if method == "get" else shared.post(path, BODIES[path])
        assert answer.status == 200, (method, path)
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", BODIES)
def test_the_fields_of_a_body_are_the_ones_it_takes(shared: Any, paths: Any, path: str) -> None:
    """null is the same as left out, and leaves every optional field at its default."""
    fields = schema(paths, path)
    assert set(fields["required"]) == set(BODIES[path])
    optional = dict.fromkeys(set(fields["properties"]) - set(BODIES[path]))
    assert shared.post(path, optional | BODIES[path]).status == 200
    for name in fields["required"]:
        answer = shared.post(path, BODIES[path] | {name: None})
        assert answer.status == 400
        assert f"missing {name}: {fields['properties'][name]['description']}" in answer.json["error"]


def test_forms_are_taken_where_libretranslate_takes_them(paths: Any) -> None:
    kinds = {path: set(paths[path]["post"]["requestBody"]["content"]) for path in BODIES}
    assert kinds == {path: {"application/json"} if path.startswith("/api/") else FORMS for path in BODIES}


def test_every_setting_of_a_search_is_documented(paths: Any) -> None:
    settings = {name: setting.json_schema() for name, setting in DecodeConfig.settings().items()}
    search, stream = (schema(paths, path)["properties"] for path in ("/api/translate", "/api/stream"))
    assert search.items() >= settings.items()
    assert set(settings) - set(stream) == {"n_best"}
    assert stream["strategy"] == settings["strategy"] | {"default": "greedy"}
