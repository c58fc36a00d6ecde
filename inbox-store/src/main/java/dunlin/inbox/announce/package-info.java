/** Announces the routes of a session range to the dist tier, and removes those that no session needs. */
@NullMarked
package dunlin.inbox.announce;

import org.jspecify.annotations.NullMarked;
