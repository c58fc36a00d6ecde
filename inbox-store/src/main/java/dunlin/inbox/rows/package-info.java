/** What is on disk of sessions: keys, stored messages, the commands in the log, and the numbers that name them. */
@NullMarked
package dunlin.inbox.rows;

import org.jspecify.annotations.NullMarked;
