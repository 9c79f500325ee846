"""What compiling leaves behind: stages as files, executables for another process, HLO passes."""
