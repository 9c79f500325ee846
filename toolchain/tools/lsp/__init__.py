"""A language server for MLIR: diagnostics, hover, definitions and references in an editor.

`tokens` and `names` read the text of a document, `worker` parses it with MLIR in a child process,
and `document` combines both. `server` and `features` talk to the editor.
"""
