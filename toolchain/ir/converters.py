"""Conversions that only private names of jaxlib offer, for other rooms."""

from ._private import hlo_proto_to_stablehlo, register_inliner, stablehlo_to_hlo_proto

__all__ = ["hlo_proto_to_stablehlo", "register_inliner", "stablehlo_to_hlo_proto"]
