"""What the compiler made of a program, in values: nothing here prints."""
