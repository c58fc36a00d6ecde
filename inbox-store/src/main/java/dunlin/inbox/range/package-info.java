/**
 * The state machine of a session range: one thread applies commands to the rows and to the state that is derived from
 * them in memory.
 */
@NullMarked
package dunlin.inbox.range;

import org.jspecify.annotations.NullMarked;
