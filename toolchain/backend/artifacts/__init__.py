"""The stages of compilation as files, saved executables, and passes on HLO."""
