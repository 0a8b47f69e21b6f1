"""The table of other tools' formats: how each is recognised, loaded and checked."""

from evalq.definitions.loaded import Format
from evalq.formats import tables
from evalq.formats.agentv import load as agentv
from evalq.formats.eva import doctor as eva_doctor
from evalq.formats.eva import load as eva
from evalq.formats.promptfoo import load as promptfoo
from evalq.formats.skills import evals_json
from evalq.formats.suite import load as suite

FORMATS: tuple[Format, ...] = (
    Format("eva", eva.recognises, eva.load, eva_doctor.find_problems),
    Format("EVAL.yaml", agentv.recognises, agentv.load),
    Format("suite", suite.recognises, suite.load, suite.problems),
    Format("evals.json", evals_json.recognises, evals_json.load),
    Format("promptfoo", promptfoo.recognises, promptfoo.load),
    Format("rows", tables.recognises, tables.load, is_guess=True),
)
"""All formats, in the order they are tried."""
