"""The provider over HTTP: the application, routes, pages, and a request on its way."""
