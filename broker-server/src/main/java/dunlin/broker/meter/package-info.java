/** The meters of a frontend: packets, messages by hop, violations, and their rates. */
@NullMarked
package dunlin.broker.meter;

import org.jspecify.annotations.NullMarked;
