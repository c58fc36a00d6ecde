/** Connections, live sessions, and how messages cross from one event loop to another. */
@NullMarked
package dunlin.broker;

import org.jspecify.annotations.NullMarked;
