/** The parts that a node's ranges share: one Raft server, its settings, and its connections to peers. */
@NullMarked
package dunlin.store.node;

import org.jspecify.annotations.NullMarked;
