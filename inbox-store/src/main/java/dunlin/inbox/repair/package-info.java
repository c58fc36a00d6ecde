/** What an operator does with stored sessions while no node uses them. */
@NullMarked
package dunlin.inbox.repair;

import org.jspecify.annotations.NullMarked;
