/** Measures the cost of the range store: the processes that `build/bench/store` starts. */
@NullMarked
package dunlin.bench.store;

import org.jspecify.annotations.NullMarked;
