import colorsys

RED = colorsys.rgb_to_hsv(1.0, 0.0, 0.0)
