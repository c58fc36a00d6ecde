/**
 * Network connections of clients, from the first byte to the last: who is let in, when a connection is read from, how its session begins and
 * ends, and how the session tier reaches it by its number; MQTT 5, sections 3.1, 3.14 and 4.13.
 *
 * <p>Promises: a client that is refused touches no session, whatever happens to one connection costs no other, and the session tier hears of
 * each that has ended.
 *
 * <p>Only the frontend knows it.
 */
@NullMarked
package dunlin.broker.connect;

import org.jspecify.annotations.NullMarked;
