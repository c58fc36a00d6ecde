/**
 * Says what would happen now to a message for one client, step by step, and which step stops it. It asks the beans of the node, and reads
 * one client, one session and one page of routes; nothing is published, kept or changed. What only another node knows is said to be unknown,
 * with the node to ask. The state may change while it is read, since nothing is stopped for it.
 */
@NullMarked
package dunlin.admin.explain;

import org.jspecify.annotations.NullMarked;
