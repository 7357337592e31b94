"""Processes for real: starting a child, noticing its death, reading what it prints, counting what the kernel did to it.

What a child means (its states, its deadlines, why it died) is no matter of these modules; the supervisor asks that of ``fsm``
and of ``runner.diagnosis``. All of them stand behind the contracts of ``runner.protocols``.
"""
