/**
 * Questions of operators that one node passes on to others: it finds the MXBeans of another node as it finds its own, and puts the answers of several nodes
 * together.
 *
 * <p>It promises that a question ends within its deadline, 2 s for most, and that a node which does not answer is named and does not make an answer of the others
 * fail. It keeps nothing between two questions: the cursor of a listing over nodes is the name in its last row, as of one node. It has no thread of its own; who asks
 * waits, and the connections between nodes bound how many questions there are at a time ({@link dunlin.admin.peers.PeerCalls}). See docs/admin-api.md and ADR 33.
 */
@NullMarked
package dunlin.admin.peers;

import org.jspecify.annotations.NullMarked;
