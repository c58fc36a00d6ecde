package dunlin.broker.session;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.model.QoS;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Takes the messages of a durable session from its inbox to its client, in order. While the client keeps up, they are
 * pushed right after they were stored; otherwise they are fetched in pages as the client takes them.
 */
public final class InboxReader {
  /*
   * Owner: the connection's event loop.
   * A push is taken only if it has the next sequence and there is room. Any other push is only noted as stored, and the
   * messages in between are fetched once the client has taken the previous ones. So if a push is missed for any reason,
   * the next one makes up for it.
   * Pushes and acknowledgements are lost with the link to the session tier. So once there is another link, everything is
   * read again, from the first message on. Of what was taken before, outbound holds what waits or is in flight; the
   * client is done with the rest, which is acknowledged once more.
   * Bounds: at most AHEAD_MESSAGES and AHEAD_BYTES are taken ahead of the client; one fetch at a time. While too much
   * is in flight, or the node's memory for outgoing messages is short, nothing is taken or fetched: messages wait in
   * the inbox.
   * Failure: a fetch that fails closes the connection; everything is still in the inbox.
   */
  private static final int AHEAD_MESSAGES = 1_024;
  private static final int AHEAD_BYTES = 1 << 20;
  private static final int PAGE_MESSAGES = 256;
  private static final long FIRST = 1;

  private final LiveSession session;
  private final Outbound outbound;

  private long expected;
  private long highest;
  private boolean fetching;
  private boolean pushedMeanwhile;

  /** Where the inbox is read again, up to what is expected; 0 when it is not. */
  private long again;

  /** Whether that begins anew after the page that is on its way, since it was asked for behind that. */
  private boolean anew;

  private long[] acknowledged = new long[8];
  private int acknowledgedCount;

  InboxReader(LiveSession session, Outbound outbound, long firstUnacknowledged, long nextSequence) {
    this.session = session;
    this.outbound = outbound;
    this.expected = firstUnacknowledged;
    this.highest = nextSequence - 1;
  }

  /** Handles a message that was stored for this session, or a QoS 0 message that bypasses the inbox. */
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

  /** Notes that more messages are stored for this session than were pushed: all of them are fetched, up to the end. */
  public void behind() {
    highest = Long.MAX_VALUE;
    pushedMeanwhile = true;
    fetch();
  }

  /** What was pushed and acknowledged may have been lost. */
  public void readAgain() {
    again = FIRST;
    anew = fetching;
    behind();
  }

  private void take(InboxMessage message) {
    expected = message.sequence() + 1;
    Outgoing outgoing =
        new Outgoing(
            message.message(), message.qos(), message.retain(), message.subscriptionIdentifiers(), null);
    outgoing.sequence = message.sequence();
    outgoing.released = message.released();
    outgoing.duplicate = message.delivered();
    session.loop().counts().copies().received(message.message(), session);
    outbound.take(outgoing);
  }

  /** Whether all messages that are known to be stored have been taken. */
  boolean caughtUp() {
    return again == 0 && expected > highest;
  }

  /** The sequence of the next message to take: messages with lower ones were taken or no longer exist. */
  long next() {
    return expected;
  }

  /** Fetches the next page, if there is one and the client has taken the previous one. */
  void fetch() {
    if (fetching || caughtUp() || !session.idle() || outbound.inFlightIsFull()) return;
    int bytes = session.home().messageMemory().reservePage(session, outbound.heldBytes());
    if (bytes == 0) return;
    fetching = true;
    pushedMeanwhile = false;
    boolean reads = again > 0;
    if (reads) session.home().readsAgain(1);
    session.tiers().inbox().fetch(session.ref(), reads ? again : expected, PAGE_MESSAGES, bytes).whenComplete(
        (page, failure) -> session.loop().post(() -> fetched(page, reads, bytes, failure)));
  }

  private void fetched(InboxClient.@Nullable Page page, boolean readAgain, int reserved, @Nullable Throwable failure) {
    fetching = false;
    if (readAgain) session.home().readsAgain(-1);
    session.home().messageMemory().giveBack(reserved);
    if (session.ended()) return;
    if (failure != null || page == null) {
      session.connection().storeFailed("reading the inbox", failure);
      return;
    }
    for (InboxMessage message : page.messages()) {
      if (message.sequence() < expected) {
        if (!outbound.holds(message.sequence())) acknowledge(message.sequence());
        continue;
      }
      session.cameLive(message.message());
      take(message);
    }
    if (anew) anew = false;
    else if (readAgain) again = page.end() || page.nextSequence() >= expected ? 0 : page.nextSequence();
    expected = Math.max(expected, page.nextSequence());
    if (page.end() && !pushedMeanwhile) highest = expected - 1;
    // Retained messages wait until the inbox was read, and a page of expired messages causes no acknowledgement.
    session.drained();
  }

  /** Notes that the client has acknowledged a message. */
  void acknowledge(long sequence) {
    if (acknowledgedCount == acknowledged.length) acknowledged = Arrays.copyOf(acknowledged, acknowledgedCount * 2);
    acknowledged[acknowledgedCount++] = sequence;
    session.connection().writer().flushSoon();
  }

  /** Sends collected acknowledgements to the session tier; at the end of the round. */
  void flushAcknowledged() {
    if (acknowledgedCount == 0) return;
    session.tiers().inbox().acknowledge(session.ref(), Arrays.copyOf(acknowledged, acknowledgedCount));
    acknowledgedCount = 0;
    if (acknowledged.length > 1_024) acknowledged = new long[8];
  }
}
