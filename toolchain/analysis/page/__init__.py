"""One self-contained HTML page: compilations in time, their stages side by side."""
