/** Clients of a run on their event loops: connections, sessions, what they publish and what they receive. */
@NullMarked
package dunlin.load.client;

import org.jspecify.annotations.NullMarked;
