"""Receipts of windows that Quire served: verify them offline, and issue them. README.md states the format."""

from quire_verify.verifier import Chain, Refused, trusted_keys, verify_chain, verify_entry, verify_proof

__all__ = ["Chain", "Refused", "trusted_keys", "verify_chain", "verify_entry", "verify_proof"]
