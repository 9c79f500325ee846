"""`jxc fit`: the cheapest way to fit a program into a budget of memory."""
