/**
 * Traces: an operator follows the messages of a client, a topic filter or a remote address through this node for some minutes, and reads what became of each
 * at every hop, with the reason for a drop.
 *
 * <p>{@link Tracer} has the traces of a node. Each tier notes what it does with a message at the place where it counts it, so that the books and a trace say the
 * same. Without a trace that is one read of a field and one branch. A trace decides by the message and the client at the hop whether it follows: nothing is
 * marked, and nothing about traces travels between nodes with a message.
 */
@NullMarked
package dunlin.transport.trace;

import org.jspecify.annotations.NullMarked;
