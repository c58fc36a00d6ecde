/**
 * What operators see and do with sessions. It reads the state in memory and the rows, changes nothing itself, and proposes deletions and
 * imports like any other command.
 */
@NullMarked
package dunlin.inbox.operate;

import org.jspecify.annotations.NullMarked;
