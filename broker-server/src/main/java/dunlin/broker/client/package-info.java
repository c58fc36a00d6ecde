/**
 * The connected clients as operators see them: the MXBean and its rows. It describes only; the package {@code dunlin.broker.connect} finds
 * the clients.
 */
@NullMarked
package dunlin.broker.client;

import org.jspecify.annotations.NullMarked;
