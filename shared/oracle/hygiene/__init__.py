"""What a draft may contain. Model output is hostile input, judged here before any compiler sees it.

A draft is comments, declarations, types and exactly one definition of the stub's function. It stands alone: its
brackets close, its last declaration ends, and nothing in it reaches beyond the place where it is spliced in. The only
directive is `#include "x"` of a header inside the include path; the only assembly an empty barrier, a register pin, and
macros of the project's own headers. Plain mistakes of syntax inside the braces are the compiler's to report.
"""

from shared.oracle.hygiene.check import check_draft, normalise
from shared.oracle.hygiene.macros import AsmMacros, asm_macros
from shared.oracle.hygiene.violation import Rule, Violation

__all__ = ["AsmMacros", "Rule", "Violation", "asm_macros", "check_draft", "normalise"]
