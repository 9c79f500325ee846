"""The checks, a file for each family. A `DoctorCheck` in a file of this folder is a check."""
