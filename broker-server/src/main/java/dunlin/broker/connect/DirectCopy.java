package dunlin.broker.connect;

import dunlin.inbox.Connections.InboxMessage;

/**
 * A QoS 0 message for a durable session's connection on another loop. It bypasses the inbox, and holds credit of its
 * lane until it arrives.
 */
record DirectCopy(long connection, InboxMessage message) {}
