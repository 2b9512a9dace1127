"""The HTTP service: LibreTranslate's API, a native API and a web page for one model, with limits on by default."""
