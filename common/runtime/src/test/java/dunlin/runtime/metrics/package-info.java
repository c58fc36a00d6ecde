
@NullMarked
package dunlin.runtime.metrics;

import org.jspecify.annotations.NullMarked;
