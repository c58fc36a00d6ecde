/**
 * A session while its client is connected: the client's publishes, the messages that it is sent, and its subscriptions;
 * MQTT 5, sections 3.3, 3.8 and 4.3 to 4.9.
 *
 * <p>Promises: packets of one client take effect and are answered in order, and nothing is acknowledged before it is
 * true. The state of a session belongs to its event loop, and each part of it is bounded.
 *
 * <p>It uses the network connection only through {@link dunlin.broker.session.ClientConnection}. Connections and the
 * frontend use it.
 */
@NullMarked
package dunlin.broker.session;

import org.jspecify.annotations.NullMarked;
