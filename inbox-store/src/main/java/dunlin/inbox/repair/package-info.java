/** Lists and removes stored sessions for an operator while no node uses them. */
@NullMarked
package dunlin.inbox.repair;

import org.jspecify.annotations.NullMarked;
