"""How the three commands end: one sentence for a person's mistake, an exit code from shared/exits.py, no traceback."""

from __future__ import annotations

import errno
import sys

import click

from shared.errors import CampaignError
from shared.exits import Exit


def run_command(group: click.Group, name: str) -> None:
    """Runs a click group as the process' whole life. A programming error still shows its traceback."""
    try:
        code = group.main(prog_name=name, standalone_mode=False)
    except CampaignError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(Exit.INTERRUPTED)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        click.echo(f"{name}: no space left on {error.filename or 'the device'}; free some and start again", err=True)
        sys.exit(Exit.DISK_FULL)
    sys.exit(code if isinstance(code, int) else Exit.OK)
