/** The topics with a retained message, in memory and in the order of their keys. */
@NullMarked
package dunlin.retain.index;

import org.jspecify.annotations.NullMarked;
