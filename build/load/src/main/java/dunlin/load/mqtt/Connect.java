package dunlin.load.mqtt;

import org.jspecify.annotations.Nullable;

/**
 * The contents of a CONNECT packet.
 *
 * @param clean Clean Session of 3.1.1, Clean Start of 5.0
 * @param sessionExpirySeconds Session Expiry Interval; 5.0 only
 * @param receiveMaximum 0 to leave it out; 5.0 only
 */
public record Connect(
    Version version,
    byte[] clientId,
    boolean clean,
    int keepAliveSeconds,
    long sessionExpirySeconds,
    int receiveMaximum,
    byte @Nullable [] user,
    byte @Nullable [] password,
    @Nullable Will will) {}
