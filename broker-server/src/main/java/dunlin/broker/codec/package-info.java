/**
 * MQTT 3.1, 3.1.1 and 5.0 on the wire: strict decoding straight from Netty's buffers and encoding straight into them.
 *
 * <p>What can be said about one packet by itself is checked here; what needs the session (packet order, authorisation, quotas,
 * validity of topic filters) is checked by those who own it.
 */
@NullMarked
package dunlin.broker.codec;

import org.jspecify.annotations.NullMarked;
