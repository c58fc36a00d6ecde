/** Listeners, and what the bytes of a connection pass through before MQTT: PROXY header, TLS, WebSocket. */
@NullMarked
package dunlin.broker.listen;

import org.jspecify.annotations.NullMarked;
