/** The state machine of a range of sessions: one thread applies commands to rows, and to what is kept of them in memory. */
@NullMarked
package dunlin.inbox.range;

import org.jspecify.annotations.NullMarked;
