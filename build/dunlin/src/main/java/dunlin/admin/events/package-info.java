/**
 * What the streams of server-sent events say: the figures of the node, messages as they are published, and the lines of a trace. Each source belongs to the thread of
 * its stream, which asks it for what is new, and bounds what it keeps between two looks. See docs/admin-api.md and ADR 31.
 */
@NullMarked
package dunlin.admin.events;

import org.jspecify.annotations.NullMarked;
