"""A session of jaxlib's profiler."""

from ._private import before_other_sessions, hlo_text, skip_absent_tpus, start_session

__all__ = ["before_other_sessions", "hlo_text", "skip_absent_tpus", "start_session"]
