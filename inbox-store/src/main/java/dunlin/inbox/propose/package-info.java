/** The ways of commands into the log of a range of sessions. */
@NullMarked
package dunlin.inbox.propose;

import org.jspecify.annotations.NullMarked;
