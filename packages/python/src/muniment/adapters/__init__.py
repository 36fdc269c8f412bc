"""Muniment as the memory of agent frameworks. Each module needs its framework, and is imported by its own name."""
