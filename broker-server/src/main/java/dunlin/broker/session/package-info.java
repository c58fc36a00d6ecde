/**
 * A session while its client is connected: what the client publishes, what it is sent, and what it has subscribed to; MQTT 5, sections 3.3, 3.8
 * and 4.3 to 4.9.
 *
 * <p>Promises: packets of one client take effect and are answered in their order, and nothing is acknowledged before it is true. All of a session
 * belongs to its event loop, and each part of it is bounded.
 *
 * <p>It knows the network connection by {@link dunlin.broker.session.ClientConnection} alone. Connections and the frontend know it.
 */
@NullMarked
package dunlin.broker.session;

import org.jspecify.annotations.NullMarked;
