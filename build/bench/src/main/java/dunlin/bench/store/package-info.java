/** What the range store costs: the processes that `build/bench/store` starts, and how they measure. */
@NullMarked
package dunlin.bench.store;

import org.jspecify.annotations.NullMarked;
