/** The transport of messages between tiers: lanes, which keep the order of their publishers, and acknowledgements. */
@NullMarked
package dunlin.transport;

import org.jspecify.annotations.NullMarked;
