/** Proposes commands to the log of a session range. */
@NullMarked
package dunlin.inbox.propose;

import org.jspecify.annotations.NullMarked;
