"""`jxc fit` over a mesh: how to split a program over devices, so that a step is fast and fits."""
