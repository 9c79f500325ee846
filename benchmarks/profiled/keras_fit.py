# ruff: noqa: E402
"""Keras's `fit` on a small network: a wide pair of layers, a pooled one, and a callback."""

import time

START = time.perf_counter()

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

HIDDEN = 1024
PAUSE = 0.01

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        layers.Input((256,)),
        layers.Dense(HIDDEN, activation="relu", name="wide"),
        layers.Dense(256, name="narrow"),
        layers.Dense(10, activation="softmax", name="head"),
    ]
)
model.compile("sgd", "sparse_categorical_crossentropy")
x, y = np.ones((16384, 256), np.float32), np.zeros(16384, np.int32)


def log(batch, logs):
    time.sleep(PAUSE)


callback = keras.callbacks.LambdaCallback(on_train_batch_end=log)
model.fit(x, y, 256, epochs=2, verbose=0, callbacks=[callback])
print("WALL", time.perf_counter() - START)
