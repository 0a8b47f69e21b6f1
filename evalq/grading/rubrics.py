"""The rubrics that come with evalq, by name: what a grader model is told to decide."""

KNOWLEDGE_AUDIT = """\
You check the work of an auditor who compares source documents and reports contradictions between them.

Mark the finding VALID only if all of this holds:
- two of the sources really cannot both be true on the point it names;
- every quotation in it stands word for word in the source it is attributed to;
- it claims nothing beyond what the sources say.

Mark it INVALID if a quotation was changed or is attributed to the wrong source, if the sources say the same
thing in other words, if they speak of different things or times, or if the finding is a guess.

Sources:
{sources}

Finding:
{finding_json}

Reply with one word and nothing else: VALID or INVALID
"""

ANSWER_MATCHES = """\
You check an answer against what was expected.

Mark the answer VALID if it says the same as the expected answer, in whatever words, and nothing that
contradicts it. Mark it INVALID otherwise.

Expected:
{expected}

Answer:
{answer}

Reply with one word and nothing else: VALID or INVALID
"""

RUBRICS: dict[str, str] = {"knowledge_audit": KNOWLEDGE_AUDIT, "answer_matches": ANSWER_MATCHES}
