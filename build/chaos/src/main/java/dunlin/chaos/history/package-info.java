/** The history of what clients of the store nodes asked and were told, and its check. */
@NullMarked
package dunlin.chaos.history;

import org.jspecify.annotations.NullMarked;
