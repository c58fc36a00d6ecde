/** Clients of a run on their event loops, with connections, sessions, publishes and deliveries. */
@NullMarked
package dunlin.load.client;

import org.jspecify.annotations.NullMarked;
