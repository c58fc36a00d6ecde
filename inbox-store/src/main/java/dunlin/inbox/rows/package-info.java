/** The stored form of sessions: keys, stored messages, the commands in the log, and the numbers in both. */
@NullMarked
package dunlin.inbox.rows;

import org.jspecify.annotations.NullMarked;
