"""The routes: LibreTranslate's API, the native API, the worked examples, and the OpenAPI document of all of them."""
