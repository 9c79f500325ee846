"""Two programs side by side: what one gained, lost and changed against the other."""
