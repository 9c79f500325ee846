"""O3: candidate pipelines, timed on a call or ranked by estimates, and the verdict."""
