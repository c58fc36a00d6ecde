/** What the ranges of a node share: one Raft server, its settings, and its connections to peers. */
@NullMarked
package dunlin.store.node;

import org.jspecify.annotations.NullMarked;
