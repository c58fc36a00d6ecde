/** Refuses, for a while, addresses that guess at passwords and clients that connect without end. */
@NullMarked
package dunlin.broker.guard;

import org.jspecify.annotations.NullMarked;
