"""Erasure, retention, import and export."""
