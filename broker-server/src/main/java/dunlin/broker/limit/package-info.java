/** Bounds on memory, connections and rates, and fair queueing, independent of packets. */
@NullMarked
package dunlin.broker.limit;

import org.jspecify.annotations.NullMarked;
