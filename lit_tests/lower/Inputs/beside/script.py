import passes

print("script.py says hello")


def double(x):
    return x * passes.FACTOR
