package dunlin.inbox.range;

import dunlin.store.RangeWriter;

/**
 * One command on its way through the range: where its rows go, and what the leader will have to do.
 *
 * @param now the leader's clock when it proposed the command, 0 for commands that need none
 */
record Change(RangeWriter out, Effects effects, long now) {}
