package dunlin.broker.session;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.model.QoS;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Brings the messages of a durable session from its inbox to its client, in order: pushed right after they were stored while
 * the client keeps up, otherwise fetched in pages as the client takes them.
 */
public final class InboxReader {
  /*
   * Owner: the connection's event loop.
   * A push is taken only when it is the next sequence and there is room. Any other one is merely noted as stored, and what
   * lies between is fetched once the client has taken what it has; so a push that was missed, for whatever reason, is
   * healed by the next one.
   * Bounds: what is taken ahead of the client is at most AHEAD_MESSAGES and AHEAD_BYTES; one fetch at a time. While much is in flight, or the
   *   node's memory for outgoing messages is short, nothing is taken and nothing fetched: it waits in the inbox.
   * Failure: a fetch that fails closes the connection; everything is still in the inbox.
   */
  private static final int AHEAD_MESSAGES = 1_024;
  private static final int AHEAD_BYTES = 1 << 20;
  private static final int PAGE_MESSAGES = 256;

  private final LiveSession session;
  private final Outbound outbound;

  private long expected;
  private long highest;
  private boolean fetching;
  private boolean pushedMeanwhile;
  private long[] acknowledged = new long[8];
  private int acknowledgedCount;

  InboxReader(LiveSession session, Outbound outbound, long firstUnacknowledged, long nextSequence) {
    this.session = session;
    this.outbound = outbound;
    this.expected = firstUnacknowledged;
    this.highest = nextSequence - 1;
  }

  /** A message has been stored for this session, or is passed by with QoS 0. */
  public void pushed(InboxMessage message) {
    session.cameLive(message.message(), message.qos() == QoS.AT_MOST_ONCE);
    if (message.qos() == QoS.AT_MOST_ONCE) {
      outbound.sendQoS0(message.message(), message.retain(), message.subscriptionIdentifiers());
      return;
    }
    highest = Math.max(highest, message.sequence());
    pushedMeanwhile = true;
    boolean next = message.sequence() == expected && !fetching;
    if (next && hasRoom(message)) {
      take(message);
    } else {
      fetch();
    }
  }

  private boolean hasRoom(InboxMessage message) {
    return outbound.queued() < AHEAD_MESSAGES
        && outbound.queuedBytes() < AHEAD_BYTES
        && outbound.mayTakeAhead(message.message().body().length);
  }

  /** More is stored for this session than was pushed: all of it is fetched, up to the end. */
  public void behind() {
    highest = Long.MAX_VALUE;
    pushedMeanwhile = true;
    fetch();
  }

  private void take(InboxMessage message) {
    expected = message.sequence() + 1;
    Outgoing outgoing =
        new Outgoing(
            message.message(), message.qos(), message.retain(), message.subscriptionIdentifiers(), null);
    outgoing.sequence = message.sequence();
    outgoing.released = message.released();
    outgoing.duplicate = message.delivered();
    session.loop().counts().copies().received();
    outbound.take(outgoing);
  }

  /** Whether everything that is known to be stored has been taken. */
  boolean caughtUp() {
    return expected > highest;
  }

  /** The sequence of the message that is taken next: what has a lower one has been taken, or is gone. */
  long next() {
    return expected;
  }

  /** Fetches the next page, when there is one and the client has taken what was fetched before. */
  void fetch() {
    if (fetching || caughtUp() || !session.idle() || outbound.inFlightIsFull()) return;
    int bytes = session.home().messageMemory().reservePage(session, outbound.heldBytes());
    if (bytes == 0) return;
    fetching = true;
    pushedMeanwhile = false;
    session.tiers().inbox().fetch(session.ref(), expected, PAGE_MESSAGES, bytes).whenComplete(
        (page, failure) -> session.loop().post(() -> fetched(page, bytes, failure)));
  }

  private void fetched(InboxClient.@Nullable Page page, int reserved, @Nullable Throwable failure) {
    fetching = false;
    session.home().messageMemory().giveBack(reserved);
    if (session.ended()) return;
    if (failure != null || page == null) {
      session.connection().storeFailed("reading the inbox", failure);
      return;
    }
    for (InboxMessage message : page.messages()) {
      session.cameLive(message.message());
      take(message);
    }
    expected = Math.max(expected, page.nextSequence());
    if (page.end() && !pushedMeanwhile) highest = expected - 1;
    // Retained messages wait until the inbox has been read, and a page of expired messages brings no acknowledgement.
    session.drained();
  }

  /** The client is done with a message. */
  void acknowledge(long sequence) {
    if (acknowledgedCount == acknowledged.length) acknowledged = Arrays.copyOf(acknowledged, acknowledgedCount * 2);
    acknowledged[acknowledgedCount++] = sequence;
    session.connection().writer().flushSoon();
  }

  /** At the end of the round. */
  void flushAcknowledged() {
    if (acknowledgedCount == 0) return;
    session.tiers().inbox().acknowledge(session.ref(), Arrays.copyOf(acknowledged, acknowledgedCount));
    acknowledgedCount = 0;
    if (acknowledged.length > 1_024) acknowledged = new long[8];
  }
}
