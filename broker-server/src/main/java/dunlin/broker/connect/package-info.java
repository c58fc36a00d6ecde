/**
 * Network connections of clients, from the first byte to the last: admission, when a connection is read from, how its
 * session begins and ends, and how the session tier finds it by its number; MQTT 5, sections 3.1, 3.14 and 4.13.
 *
 * <p>Promises: a refused client touches no session, a failure of one connection does not affect others, and the end of
 * each connection is reported to the session tier.
 *
 * <p>Only the frontend uses it.
 */
@NullMarked
package dunlin.broker.connect;

import org.jspecify.annotations.NullMarked;
