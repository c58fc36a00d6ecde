package dunlin.broker;

import java.time.Duration;

/**
 * How a frontend serves its clients.
 *
 * @param host address that the TCP listener binds to
 * @param port TCP port, 0 for any free one
 * @param anonymous whether clients without credentials are let in on an address that is not loopback
 * @param lanes event loops, each with a lane of its own, 1 to 64
 * @param connectTimeout how long a connection may take to send CONNECT
 * @param packetMax largest packet in bytes that a client may send
 * @param connectPacketMax largest CONNECT in bytes
 * @param receiveMaximum publishes of QoS 1 and 2 that a client may have unacknowledged, 1 to 65,535
 * @param topicAliasMaximum topic aliases that a client may set, 0 to 65,535
 * @param keepAliveMax longest keep alive that is granted; a client that asks for more, or for none, gets this one
 * @param sessionExpiryMax longest session expiry that is granted, in seconds; 0xFFFFFFFF for never
 * @param subscriptionsMax subscriptions that one session may hold
 * @param outboundMax bytes that may wait for a socket before QoS 0 messages to it are dropped
 * @param queueMessagesMax messages of QoS 1 and 2 that may wait for a connected session without expiry
 * @param queueBytesMax their bytes
 * @param laneMessagesMax messages of one lane that may be on their way before its publishers are not read any more
 * @param laneBytesMax their bytes
 * @param sharedWait how long a message of QoS 1 or 2 waits for a member of a group to take it
 * @param inlineFanoutThreshold subscribers of one message on one event loop that are served in one go
 */
public record FrontendSettings(
    String host,
    int port,
    boolean anonymous,
    int lanes,
    Duration connectTimeout,
    int packetMax,
    int connectPacketMax,
    int receiveMaximum,
    int topicAliasMaximum,
    Duration keepAliveMax,
    long sessionExpiryMax,
    int subscriptionsMax,
    int outboundMax,
    int queueMessagesMax,
    int queueBytesMax,
    int laneMessagesMax,
    int laneBytesMax,
    Duration sharedWait,
    int inlineFanoutThreshold) {

  /** A Session Expiry Interval of this many seconds means that the session does not expire. */
  public static final long NEVER = 0xFFFF_FFFFL;

  public FrontendSettings {
    if (lanes < 1 || lanes > 64) throw new IllegalArgumentException("lanes " + lanes);
    if (receiveMaximum < 1 || receiveMaximum > 65_535) {
      throw new IllegalArgumentException("receive maximum " + receiveMaximum);
    }
    if (sessionExpiryMax < 0 || sessionExpiryMax > NEVER) {
      throw new IllegalArgumentException("session expiry maximum " + sessionExpiryMax);
    }
  }
}
