/** What a run counts: stamps in payloads, books of what came from whom, meters of each event loop, and what they add up to. */
@NullMarked
package dunlin.load.count;

import org.jspecify.annotations.NullMarked;
