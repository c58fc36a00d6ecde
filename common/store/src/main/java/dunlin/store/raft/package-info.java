/** A range as a Raft group: proposals, the state machine, leadership, membership, and the store of a node's ranges. */
@NullMarked
package dunlin.store.raft;

import org.jspecify.annotations.NullMarked;
