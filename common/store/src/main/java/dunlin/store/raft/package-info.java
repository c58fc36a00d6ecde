/** A range as a Raft group: proposals, the state machine, leadership, membership, and the store that holds the ranges of a node. */
@NullMarked
package dunlin.store.raft;

import org.jspecify.annotations.NullMarked;
