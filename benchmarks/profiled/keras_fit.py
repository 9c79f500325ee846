# ruff: noqa: E402
"""Keras's `fit` on a small network with a slow callback."""

import time

START = time.perf_counter()

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

WIDTH = 1024
COUNT = 400_000

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        layers.Input((64,)),
        layers.Dense(WIDTH, activation="relu", name="first"),
        layers.Dense(WIDTH, activation="relu", name="second"),
        layers.Dense(WIDTH, activation="tanh", name="third"),
        layers.Dense(10, activation="softmax", name="head"),
    ]
)
model.compile("sgd", "sparse_categorical_crossentropy")
x, y = np.ones((16384, 64), np.float32), np.zeros(16384, np.int32)


def log(batch, logs):
    sum(range(COUNT))


callback = keras.callbacks.LambdaCallback(on_train_batch_end=log)
model.fit(x, y, 256, epochs=2, verbose=0, callbacks=[callback])
print("WALL", time.perf_counter() - START)
