package dunlin.transport.trace;

import java.util.Locale;

/** What a hop did with a message. */
public enum TraceStep {
  /** It has come to the hop: a PUBLISH from its client, or a copy for one session. */
  RECEIVED,
  /** The publisher gets an error at once, or its connection is closed; the reason is the reason code. The message goes no further. */
  REFUSED,
  /** It has become the retained message of its topic, or has removed that with an empty payload. */
  RETAINED,
  /** It could not become the retained message; the reason is the reason code. */
  NOT_RETAINED,
  /** It was handed to the lane, which leads to the routes. */
  HANDED_ON,
  /** A topic filter matches, so it goes to a node with connected clients or to the inboxes; the reason names both. */
  FORWARDED,
  /** No topic filter matches. */
  UNMATCHED,
  /** It is in the inbox of a session, or waits for the members of a group, who are the reason then. */
  STORED,
  /** All destinations have answered; the reason is the reason code for the publisher. */
  ANSWERED,
  /** No member of a shared subscription has room; it waits for one. */
  WAITS,
  /** It was written to the client's connection, and waits for the acknowledgement. */
  SENT,
  /** It waits for the client: for the window of messages in flight, or for the socket. */
  QUEUED,
  /** Sent with QoS 0, or acknowledged by the client. */
  DELIVERED,
  /** It is not sent to this client and remains with its source: in the inbox, or for another member of the group. */
  RETURNED,
  /** It was not meant for this session after all, so it is in no books; the reason is the rule. */
  LEFT_OUT,
  /** It is counted as dropped; the reason is that of the counter. */
  DROPPED;

  /** As lines of a trace spell it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
