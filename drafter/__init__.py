"""The drafter: decides what is worked on next and keeps the fleet of agents at its set point, without ever stopping.

frontier (open stubs) -> draw (a wave on disk) -> deal (inboxes of shards) -> rows -> markers in the spool
"""
