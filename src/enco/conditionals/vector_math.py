"""Single-precision exp and log in plain arithmetic, so that LLVM turns loops over them into vector code.

The C library's scalar `expf` would cost more than the whole output layer. Both functions are polynomial approximations
after splitting a number into exponent and mantissa by its bits; relative error below 3e-7 (tested).
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from enco.system.compilation import njit

__all__ = ["FAST", "LARGEST_LOGIT", "fast_exp", "fast_log"]

# Allow fused multiply-add and reassociation of sums; keep NaN and infinity meaningful.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}

# Logits are clamped to this range, so that a softmax needs no pass for its maximum: exp(60) * 65,535 is still finite.
LARGEST_LOGIT = np.float32(60.0)

f32 = np.float32
i32 = np.int32


@intrinsic
def _as_float(typing_context: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), code


@intrinsic
def _as_bits(typing_context: Any, number: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), code


@njit(inline="always", error_model="numpy")
def fast_exp(x: np.float32) -> np.float32:
    """Exp(x) for |x| <= `LARGEST_LOGIT`; arguments outside are clamped.

    x = n log 2 + r with |r| <= log(2)/2; exp(r) by a polynomial, 2^n by writing n into the exponent bits.
    """
    x = min(max(x, -LARGEST_LOGIT), LARGEST_LOGIT)
    # Adding a positive offset before truncation rounds to nearest without a branch.
    n = i32(x * f32(1.44269504) + f32(128.5)) - i32(128)
    r = x - f32(n) * f32(0.693359375) + f32(n) * f32(2.12194440e-4)
    p = f32(1.9875691e-4)
    p = p * r + f32(1.3981999e-3)
    p = p * r + f32(8.3334519e-3)
    p = p * r + f32(4.1665795e-2)
    p = p * r + f32(1.6666665e-1)
    p = p * r + f32(0.5)
    p = p * r * r + r + f32(1.0)
    return p * _as_float((n + i32(127)) << i32(23))


@njit(inline="always", error_model="numpy")
def fast_log(x: np.float32) -> np.float32:
    """log(x) for normal positive x.

    x = 2^n m with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), an odd series in s.
    """
    bits = _as_bits(x)
    # 0x3F3504F3 are the bits of sqrt(1/2): subtracting them first puts the mantissa where the series is short.
    n = (bits - i32(0x3F3504F3)) >> i32(23)
    m = _as_float(bits - (n << i32(23)))
    s = (m - f32(1.0)) / (m + f32(1.0))
    z = s * s
    p = f32(0.2222222222)
    p = p * z + f32(0.2857142857)
    p = p * z + f32(0.4)
    p = p * z + f32(0.6666666667)
    return f32(n) * f32(0.6931471806) + s * (f32(2.0) + z * p)
