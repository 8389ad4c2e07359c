"""The HTTP edge: routes, errors, pages."""
