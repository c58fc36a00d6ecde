/** The memory of the process. */
@NullMarked
package dunlin.runtime.memory;

import org.jspecify.annotations.NullMarked;
