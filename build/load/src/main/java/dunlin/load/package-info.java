/** The load test {@code dunlin bench}: its commands. */
@NullMarked
package dunlin.load;

import org.jspecify.annotations.NullMarked;
