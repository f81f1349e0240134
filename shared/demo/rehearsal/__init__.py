"""The rehearsal (simulated model): the one simulated part of a demo. It speaks the real chat-completions protocol.

It knows the right bodies of a forged project and plays a mixed fleet, seeded, so that the expected number of banks is
known beforehand. Everything it writes carries NAME.
"""

NAME = "rehearsal (simulated model)"
