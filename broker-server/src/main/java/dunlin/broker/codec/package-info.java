/**
 * MQTT 3.1, 3.1.1 and 5.0 on the wire: strict decoding directly from Netty's buffers, and encoding directly into them.
 *
 * <p>This package checks everything that concerns a single packet. Checks that need the session (packet order,
 * authorization, quotas, validity of topic filters) are made by the owner of the session.
 */
@NullMarked
package dunlin.broker.codec;

import org.jspecify.annotations.NullMarked;
