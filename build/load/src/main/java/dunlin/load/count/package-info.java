/** The counting of a run: stamps in payloads, books of received messages, meters of each event loop, and their sums. */
@NullMarked
package dunlin.load.count;

import org.jspecify.annotations.NullMarked;
