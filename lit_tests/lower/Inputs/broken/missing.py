import no_such_package  # noqa: F401
