/** How messages are handed from tier to tier: lanes, which keep the order of their publishers, and acknowledgements. */
@NullMarked
package dunlin.transport;

import org.jspecify.annotations.NullMarked;
