"""The one error that everything about models raises: a kind that the journal knows, a sentence, and a way out.

Here lives the error alone. What leads to it is found in the modules beside this one; what the supervisor makes of it
(a refused command, a failed load) is the supervisor's business.
"""

from fsm.failure import REMEDIES, Kind


class ModelError(Exception):
    """A model can't be had, or can't be used. Nothing was changed by the attempt.

    ``kind`` says what is wrong: ``model_missing``, ``model_invalid``, ``auth``, ``hub_unreachable``, ``disk_full``...
    ``str(error)`` says it in a sentence, ``remedy`` says what to do, ``evidence`` holds the lines that bear it out.
    """

    def __init__(self, kind: Kind, sentence: str, *, remedy: str | None = None, evidence: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.remedy = REMEDIES[kind] if remedy is None else remedy
        self.evidence = evidence
