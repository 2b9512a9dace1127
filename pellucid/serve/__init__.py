"""The service: LibreTranslate's API and the page's own, over one model, with limits on by default."""
