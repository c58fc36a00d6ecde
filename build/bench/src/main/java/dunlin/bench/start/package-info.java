/** The start of a broker with much data: this package makes the data, and {@code build/bench/bigstart} starts the broker on it. */
@NullMarked
package dunlin.bench.start;

import org.jspecify.annotations.NullMarked;
