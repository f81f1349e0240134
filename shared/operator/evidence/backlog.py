"""`campaign backlog`: near misses of still-open stubs, closest first."""

from __future__ import annotations

from typing import Any

import click
import orjson

from shared.config.load import Campaign, find_config, load_campaign
from shared.operator.evidence.rows import CLASSES, Key, Standing, Standings, read_standings
from shared.operator.evidence.stubs import OpenStubs, check_binary, open_stubs
from shared.records import SCHEMA
from shared.state import StateDir, open_state, utc_now

TOP = 30


def collect(campaign: Campaign, state: StateDir, *, binary: str | None, top: int | None) -> dict[str, Any]:
    """The backlog as one JSON object; `functions` is the best draft of each open stub that has one, nearest first."""
    stubs = open_stubs(campaign)
    mine = [key for key in stubs.places if binary in (None, key[0])]
    wanted = frozenset(mine)
    standings = read_standings(state.journal / "drafts.jsonl", wanted.__contains__)
    best: dict[Key, Standing] = {}
    tried: dict[Key, int] = {}
    for draft in standings.drafts.values():
        tried[draft.key] = tried.get(draft.key, 0) + 1
        known = best.get(draft.key)
        if known is None or draft.rank < known.rank:
            best[draft.key] = draft
    mass = {key: draft.words or stubs.words(key) or 0 for key, draft in best.items()}
    order = sorted(best, key=lambda key: (*best[key].rank[:2], -mass[key], best[key].rank[2], key))
    shown = order if top is None else order[:top]
    return {
        "schema": SCHEMA,
        "at": utc_now(),
        "commit": stubs.commit,
        "open": len(mine),
        "with_drafts": len(best),
        "never_drafted": len(mine) - len(best),
        "shown": len(shown),
        "rows": standings.rows,
        "unread_rows": standings.unread,
        "functions": _entries(state, stubs, standings, [(best[key], tried[key], mass[key]) for key in shown]),
    }


def _entries(
    state: StateDir, stubs: OpenStubs, standings: Standings, shown: list[tuple[Standing, int, int]]
) -> list[dict[str, Any]]:
    rows = standings.whole(offset for draft, _, _ in shown for offset in (draft.last, draft.judged))
    entries = []
    for draft, tried, mass in shown:
        last, judged = rows[draft.last], rows[draft.judged]
        evidence = judged.get("evidence", [])
        path = str(last.get("path", ""))
        entries.append(
            {
                "binary": draft.key[0],
                "function": draft.key[1],
                "tu": stubs.places[draft.key][0].tu,
                "class": CLASSES.get(draft.verdict, "other"),
                "verdict": draft.verdict,
                "reason": last.get("reason", ""),
                "closeness": draft.closeness,
                "words": draft.words,
                "ratio": None if draft.ratio is None else round(draft.ratio, 4),
                "instructions": mass or None,
                "stuck": evidence[0] if evidence else None,
                "mismatches": evidence,
                "tried": tried,
                "id": draft.id,
                "draft": path,
                "draft_exists": bool(path) and (state.root / path).is_file(),
                "ambiguous": len(stubs.places[draft.key]) > 1,
            }
        )
    return entries


def said(evidence: dict[str, Any] | None) -> str:
    """One fact of a verdict in a few words."""
    if not evidence:
        return ""
    word = evidence.get("word")
    parts = [str(evidence.get("where", "")), "" if word is None else f"word {word}"]
    mine, target = evidence.get("mine", ""), evidence.get("target", "")
    if mine or target:
        parts.append(f"{mine or '-'} for {target or '-'}")
    parts.append(str(evidence.get("note", "")))
    return printable(" ".join(part for part in parts if part))


def printable(text: str, most: int = 400) -> str:
    """Words out of a record on one line of a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:most]


def lines(value: dict[str, Any]) -> list[str]:
    """The backlog for a person."""
    where = f"at {value['commit'][:12]}"
    rows = [
        f"{value['with_drafts']} of {value['open']} open stubs {where} have drafts, "
        f"{value['never_drafted']} were never drafted; {value['shown']} shown, closest first"
    ]
    if value["unread_rows"]:
        rows.append(f"{value['unread_rows']} lines of journal/drafts.jsonl could not be read")
    for entry in value["functions"]:
        distance = (
            "not comparable" if entry["closeness"] is None else f"{entry['closeness']}/{entry['words']} words off"
        )
        tries = f"{entry['tried']} draft{'s' * (entry['tried'] != 1)}"
        name = f"{entry['binary']}/{entry['function']}"
        twice = "  AMBIGUOUS: open twice" if entry["ambiguous"] else ""
        rows.append(f"{name}  {entry['verdict']} ({entry['class']})  {distance}, {tries}{twice}")
        stuck = said(entry["stuck"]) or printable(entry["reason"])
        more = len(entry["mismatches"]) - 1
        rows.append(f"    stuck: {stuck[:160]}" + (f" (+{more} more)" if more > 0 else ""))
        rows.append(f"    draft: {entry['draft']}" + ("" if entry["draft_exists"] else " (no longer there)"))
    return rows


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; all functions unless --top is given.")
@click.option("--top", type=click.IntRange(min=1), help=f"Show this many functions; without --json {TOP}.")
@click.option("--binary", help="Only this binary.")
@click.pass_context
def backlog(context: click.Context, as_json: bool, top: int | None, binary: str | None) -> None:
    """Open stubs that have drafts, closest first.

    One line a function, of its best draft: verdict and class, words off of the target's words, how many drafts were
    judged, the first evidence against it and where it lies. Where two are as close, the larger function comes first.
    "Open" is read from the committed source at the landing head. Works with both daemons down. Exit code 0.

    \b
    campaign backlog --top 10
    campaign backlog --binary main --json
    """
    campaign = load_campaign(find_config(context.obj))
    check_binary(campaign, binary)
    state = open_state(campaign.root)
    value = collect(campaign, state, binary=binary, top=top or (None if as_json else TOP))
    click.echo(orjson.dumps(value) if as_json else "\n".join(lines(value)))
