package dunlin.broker.connect;

import dunlin.inbox.Connections.InboxMessage;

/** A message of QoS 0 for a durable session's connection on another loop; it goes past the inbox and holds credit on its way. */
record DirectCopy(long connection, InboxMessage message) {}
