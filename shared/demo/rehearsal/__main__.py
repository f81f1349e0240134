"""`python -m shared.demo.rehearsal`."""

import sys

from shared.demo.rehearsal.cli import rehearse
from shared.errors import CampaignError
from shared.log import setup_logging

if __name__ == "__main__":
    setup_logging()
    try:
        rehearse()
    except CampaignError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
