/** What a start has to do with much data: the data is made here, and {@code build/bench/bigstart} starts the broker on it. */
@NullMarked
package dunlin.bench.start;

import org.jspecify.annotations.NullMarked;
