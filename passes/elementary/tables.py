"""Coefficients of polynomials, lowest power first, and the bits of 1/(2 pi).

`scripts/bounds/coefficients.py` prints the coefficients. The relative errors are those of the
polynomials without rounding; an ulp of an f32 is a relative error of 2^-24 to 2^-23.
"""

from __future__ import annotations

TURN_BITS = 0x28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458
TURN_BITS_SCALE = -216
"""1/(2 pi), truncated, is `TURN_BITS` times 2 to this power."""


# Of t squared: sin(2 pi t) / t up to a quarter turn; the same and cos(2 pi t) to an eighth.
# Relative error 2^-35.5.
SINE = (
    6.283185307046033,
    -41.34170209633657,
    81.60522360657212,
    -76.70416613901253,
    42.00771509028587,
    -14.380821637509536,
)
# Relative error 2^-37.7.
SINE_EIGHTH = (
    6.283185307150768,
    -41.34170214997444,
    81.60520358749037,
    -76.69774816041706,
    41.468947795185116,
)
# Relative error 2^-34.0.
COSINE_EIGHTH = (
    0.999999999943472,
    -19.739208631921727,
    64.93931033562379,
    -85.44225069405904,
    59.201109863575496,
)

# Of t squared: atan(t) / t up to 1.
# Relative error 2^-36.6.
ARCTANGENT = (
    0.9999999999906533,
    -0.3333333300531519,
    0.19999980837279915,
    -0.14285271431782112,
    0.11105741674914689,
    -0.09051620082595734,
    0.07503961595296688,
    -0.060426327439575704,
    0.04396722055279865,
    -0.026338576704627026,
    0.011646581870145728,
    -0.0032782865984850363,
    0.00043295585589674476,
)

# Of t squared: asin(t) / t up to 1/2.
# Relative error 2^-35.9.
ARCSINE = (
    0.9999999999849032,
    0.1666666742167304,
    0.07499938198610118,
    0.04466203565765866,
    0.03009220790925727,
    0.024711550990705693,
    0.007223803589345178,
    0.034951583126746365,
)

# Of s squared, where s = (m - 1) / (m + 1) and m is between 1 and 2 over sqrt 2: log2(m) / s.
# Relative error 2^-45.1.
LOGARITHM = (
    2.88539008177785,
    0.9617966941142208,
    0.5770779420743616,
    0.41220928444915206,
    0.3199042762028184,
    0.2829218352813153,
)

# Of x between -1/2 and 1/2: 2 to the x.
# Relative error 2^-34.5.
EXPONENTIAL = (
    0.999999999961682,
    0.6931471807284497,
    0.24022651198157224,
    0.055504103534381725,
    0.009618027253698239,
    0.0013333922571205344,
    0.00015469291136750883,
    1.5201919885161754e-05,
)

# Of s squared, where s = y / (y + 2) and y is between 0 and 1: log(1 + y) / s.
# Relative error 2^-38.5.
LOGARITHM_OF_SUM = (
    2.0000000000050657,
    0.6666666622449398,
    0.4000006287852111,
    0.2856808803280149,
    0.2230615931396319,
    0.17114045106777356,
    0.21886743044352744,
)
