/** Listeners, and the protocols under MQTT: PROXY header, TLS, WebSocket. */
@NullMarked
package dunlin.broker.listen;

import org.jspecify.annotations.NullMarked;
