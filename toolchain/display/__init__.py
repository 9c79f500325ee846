"""Results in notebooks as HTML, and a line that says what takes long, in notebooks and terminals.

`fragment` makes the HTML of one result. `HtmlConsole` takes the place of a console of rich, so that
tables are written once for terminals and notebooks. Import these where they are used: rich is
loaded with them.
"""
