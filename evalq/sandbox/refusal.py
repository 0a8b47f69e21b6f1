"""The refusal to run code without a sandbox, with its remedies."""

from evalq.errors import Refused

UNSAFE_VARIABLE = "EVALQ_ALLOW_UNSAFE_CODE"


def unavailable(reason: str) -> Refused:
    """No sandbox here, and nothing weaker by itself."""
    return Refused(
        f"SANDBOX_UNAVAILABLE: {reason}; install bubblewrap 0.8 or newer (`apt-get install bubblewrap`) and "
        "try `evalq doctor --sandbox`, or set `sandbox: unsafe` in evalq.yaml together with "
        f"{UNSAFE_VARIABLE}=1 to run model-written code without one"
    )
