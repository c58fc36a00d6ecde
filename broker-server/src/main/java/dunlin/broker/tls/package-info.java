/** What the TLS of listeners costs and asks: bounded handshakes, signatures off the event loops, and responders that know revoked certificates. */
@NullMarked
package dunlin.broker.tls;

import org.jspecify.annotations.NullMarked;
