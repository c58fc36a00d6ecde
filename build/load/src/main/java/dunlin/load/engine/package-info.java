/** A run from its first step to its result. */
@NullMarked
package dunlin.load.engine;

import org.jspecify.annotations.NullMarked;
