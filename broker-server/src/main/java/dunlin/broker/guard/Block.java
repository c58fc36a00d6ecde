package dunlin.broker.guard;

import java.time.Instant;

/**
 * A block, as operators see it.
 *
 * @param tenant of a client; empty for an address
 * @param value the address, the network, or the client identifier
 * @param until by the wall clock; the block itself ends by the monotonic one
 */
record Block(String tenant, String value, Instant until, String reason) {}
