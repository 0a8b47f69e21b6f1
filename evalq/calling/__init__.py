"""Calling models: every attempt is paid for in advance, journalled, and repeated only where that is safe."""
