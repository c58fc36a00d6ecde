package dunlin.inbox.range;

import dunlin.store.RangeWriter;

/**
 * The context in which one command is applied: where its rows are written, and the effects that the leader has to
 * perform.
 *
 * @param now the leader's clock when it proposed the command, 0 for commands that need none
 */
record Change(RangeWriter out, Effects effects, long now) {}
