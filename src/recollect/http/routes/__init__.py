"""The routes, one file per part of the API."""
