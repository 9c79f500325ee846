raise ImportError("No module named 'jinja2'")
