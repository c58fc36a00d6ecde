/**
 * Says what would happen now to a message for one client, step by step, and which step stops it. It asks the beans of the nodes that
 * have the client, the sessions and the routes, and reads one client, one session and one page of routes; nothing is published, kept or changed. What a node has
 * that does not answer is said to be unknown, with its name. The state may change while it is read, since nothing is stopped for it.
 */
@NullMarked
package dunlin.admin.explain;

import org.jspecify.annotations.NullMarked;
