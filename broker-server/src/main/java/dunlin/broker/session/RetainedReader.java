package dunlin.broker.session;

import dunlin.inbox.InboxClient;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.runtime.DropReason;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Sends the retained messages for new subscriptions to one client, page by page, as fast as the client takes them; MQTT
 * 5, section 3.3.1.3. There is no limit on how many match.
 *
 * <p>A retained message is not sent after a newer live message of its topic. A live message that arrives while a page
 * is read may be newer or older than the page. So its topic is left out of the page and read again, until no live
 * message of it arrives during the read. A message is handed to the retain tier before it is matched, and a page waits
 * for messages that were handed over before. So a read that begins after a live message has arrived is at least as new
 * as that message, and as all messages that were matched before the subscription took effect.
 *
 * <p>Messages that go through the inbox of a durable session get their position there later. So the session tier leaves
 * out retained messages that were read before another message of their topic came to the inbox, and reports them. QoS 0
 * is not in the inbox: it may arrive before an older message of its topic that is in flight to the inbox; that topic is
 * then read again.
 */
final class RetainedReader {
  /*
   * Owner: the connection's event loop.
   * This object exists until all requests are complete.
   * Bounds: a request for each topic filter of the session, because a repeated SUBSCRIBE replaces the previous request
   * and begins again, and UNSUBSCRIBE ends it. One page at a time, requested when no message waits for the client any
   * more. Its memory is reserved from the node's budget. Only what the client takes at once is handed on; UNSUBSCRIBE
   * discards the rest. A live message is noted as one bit for the hash of its topic; two topics with the same bit cost
   * one additional read. CHANGING_MAX topics plus those of a page wait to be read again; until there are fewer, no
   * further page is read. Topics that change continuously are read again at growing intervals.
   * Failure: a page that cannot be read closes the connection, because the client could not know that it got only a
   * part.
   */
  private static final int PAGE_MESSAGES = 256;
  private static final int PAGE_BYTES = 128 * 1_024;
  private static final int CHANGING_MAX = 1_024;
  private static final int LIVE_BITS = 4_096;
  private static final int PAUSE_MILLIS = 10;
  private static final int PAUSE_MILLIS_MAX = 1_000;
  private static final int[] NO_IDENTIFIERS = {};

  private final LiveSession session;

  /** Requests with pages left to read. */
  private final LinkedHashMap<TopicFilter, Request> requests = new LinkedHashMap<>(2);

  /** Topics that changed while they were read, in the order in which they are read again. */
  private final ArrayDeque<Changing> changing = new ArrayDeque<>(2);

  /** How many of them must be read again before the next page. */
  private int changingDue;

  /** The request that is being read or sent; null if there is none, or its subscription has ended. */
  private @Nullable Request current;

  /** The topic that is read again, or null while a page is read. */
  private @Nullable String topicAgain;

  private boolean reading;
  private boolean pausing;
  private int pauseMillis = PAUSE_MILLIS;
  private List<Publication> page = List.of();
  private int sentOfPage;

  /** Bytes of memory reserved for the page. */
  private int reserved;

  /** Hashes of the topics with a live message since the page was requested. */
  private final BitSet live = new BitSet(LIVE_BITS);

  /** The same for messages that bypassed the inbox while a page was in flight to it. */
  private final BitSet passed = new BitSet();

  /** The last answer of the inbox: messages with a lower sequence were there before everything that was read since. */
  private long seenInInbox;

  private static final class Request {
    final TopicFilter filter;
    final SubscriptionOptions options;
    RetainClient.@Nullable Cursor cursor;

    Request(TopicFilter filter, SubscriptionOptions options) {
      this.filter = filter;
      this.options = options;
    }
  }

  private record Changing(String topic, Request request) {}

  RetainedReader(LiveSession session) {
    this.session = session;
  }

  /**
   * Requests all retained messages that the filter matches from now on, including those that an earlier request of the
   * filter has sent.
   */
  void request(TopicFilter filter, SubscriptionOptions options) {
    forget(filter);
    requests.put(filter, new Request(filter, options));
    session.home().retainedReads(1);
    pauseMillis = PAUSE_MILLIS;
    read();
  }

  /** Ends a request whose filter was unsubscribed: nothing more of it is sent. */
  void end(TopicFilter filter) {
    forget(filter);
    read();
  }

  /** Ends all requests with the session. */
  void end() {
    session.home().retainedReads(-requests.size());
    requests.clear();
    changing.clear();
    current = null;
    page = List.of();
    giveBack();
  }

  private void giveBack() {
    session.home().messageMemory().giveBack(reserved);
    reserved = 0;
  }

  private void forget(TopicFilter filter) {
    remove(filter);
    if (!changing.isEmpty()) {
      changing.removeIf(each -> each.request().filter.equals(filter));
      changingDue = Math.min(changingDue, changing.size());
    }
    if (current != null && current.filter.equals(filter)) {
      current = null;
      page = List.of();
    }
  }

  private void remove(TopicFilter filter) {
    if (requests.remove(filter) != null) session.home().retainedReads(-1);
  }

  /**
   * Notes a live message that is its topic's retained message, or removes it.
   *
   * @param passing whether it bypassed the inbox
   */
  void live(Publication message, boolean passing) {
    if (current == null) return;
    live.set(bit(message));
    if (passing) passed.set(bit(message));
  }

  private static int bit(Publication message) {
    return Math.floorMod(message.topic().hashCode(), LIVE_BITS);
  }

  /** Continues reading, if there is something to read and the client has taken what was read before. */
  void read() {
    if (reading || session.ended()) return;
    if (current != null && !send(current)) return;
    current = null;
    page = List.of();
    giveBack();
    if (requests.isEmpty() && changing.isEmpty()) {
      session.retainedRead(this);
      return;
    }
    if (!session.idle() || !session.caughtUp()) return;
    if (changingDue > 0) {
      if (!reserve()) return;
      changingDue--;
      Changing next = changing.remove();
      find(next.request(), next.topic());
    } else if (!requests.isEmpty() && changing.size() < CHANGING_MAX) {
      if (!reserve()) return;
      find(requests.firstEntry().getValue(), null);
    } else {
      pause();
    }
  }

  /**
   * Reserves memory for the next read. If there is none, answers false, and the session is notified when there is some.
   */
  private boolean reserve() {
    reserved = session.home().messageMemory().reservePage(session, session.outbound().heldBytes());
    return reserved > 0;
  }

  /** Delays the next read of topics that changed during each read. */
  private void pause() {
    if (pausing) return;
    pausing = true;
    session.loop().executor().schedule(
        () -> {
          pausing = false;
          changingDue = changing.size();
          read();
        },
        pauseMillis,
        TimeUnit.MILLISECONDS);
    pauseMillis = Math.min(2 * pauseMillis, PAUSE_MILLIS_MAX);
  }

  /** Reads one topic again, or the request's next page if the topic is null. */
  private void find(Request request, @Nullable String topic) {
    reading = true;
    current = request;
    topicAgain = topic;
    live.clear();
    String filter = topic == null ? request.filter.filter() : topic;
    session
        .tiers()
        .retain()
        .find(session.publisher().tenant(), filter, topic == null ? request.cursor : null, PAGE_MESSAGES, Math.min(PAGE_BYTES, reserved))
        .whenComplete((found, failure) -> session.loop().post(() -> found(request, found, failure)));
  }

  private void found(Request request, RetainClient.@Nullable Page found, @Nullable Throwable failure) {
    reading = false;
    if (session.ended()) return;
    if (current == request && (failure != null || found == null)) {
      session.connection().storeFailed("reading retained messages", failure);
      return;
    }
    if (current == request && found != null) {
      if (topicAgain == null) {
        request.cursor = found.next();
        if (found.next() == null) remove(request.filter);
      }
      sentOfPage = 0;
      List<Publication> messages = session.access() == null ? found.messages() : permitted(request, found.messages());
      if (session.durable()) split(request, messages);
      else page = messages;
    }
    if (!reading) read();
  }

  /** Leaves out what access rules deny, so that it is not stored in an inbox either. */
  private List<Publication> permitted(Request request, List<Publication> messages) {
    List<Publication> permitted = new ArrayList<>(messages.size());
    for (Publication message : messages) {
      if (!session.withholds(message, message.qos().min(request.options.maximumQoS()), true)) {
        permitted.add(message);
      } else {
        session.loop().counts().copies().received(message, session);
        session.loop().counts().copies().dropped(DropReason.NOT_AUTHORIZED, message, session);
      }
    }
    return permitted;
  }

  /** Splits the messages: QoS 1 and 2 of a durable session go through its inbox, which determines their order. */
  private void split(Request request, List<Publication> messages) {
    List<Publication> toSend = new ArrayList<>();
    List<Publication> toStore = new ArrayList<>();
    for (Publication message : messages) {
      if (message.qos().min(request.options.maximumQoS()) == QoS.AT_MOST_ONCE) toSend.add(message);
      else if (live.get(bit(message))) readAgain(message, request);
      else toStore.add(message);
    }
    page = toSend;
    if (!toStore.isEmpty()) store(request, toStore);
  }

  private void store(Request request, List<Publication> messages) {
    reading = true;
    passed.clear();
    session
        .tiers()
        .inbox()
        .append(session.ref(), request.options, Math.max(session.inbox().next(), seenInInbox), messages)
        .whenComplete((appended, failure) -> session.loop().post(() -> stored(request, messages, appended, failure)));
  }

  /**
   * Handles the answer of the inbox. Live messages that arrived before the store have kept retained ones out of the
   * inbox, except QoS 0, which is not in the inbox.
   */
  private void stored(
      Request request, List<Publication> messages, InboxClient.@Nullable Appended appended, @Nullable Throwable failure) {
    reading = false;
    if (session.ended()) return;
    if (failure != null || appended == null) {
      session.connection().storeFailed("storing retained messages", failure);
      return;
    }
    seenInInbox = appended.next();
    if (current == request) {
      for (int i = 0; i < messages.size(); i++)
        if (!appended.taken().get(i) || passed.get(bit(messages.get(i)))) readAgain(messages.get(i), request);
    }
    read();
  }

  /** Sends as much of the page as the client takes; answers whether that is all of it. */
  private boolean send(Request request) {
    int identifier = request.options.subscriptionIdentifier();
    int[] identifiers = identifier == 0 ? NO_IDENTIFIERS : new int[] {identifier};
    for (; sentOfPage < page.size(); sentOfPage++) {
      Publication message = page.get(sentOfPage);
      QoS qos = message.qos().min(request.options.maximumQoS());
      if (live.get(bit(message))) {
        readAgain(message, request);
      } else if (qos == QoS.AT_MOST_ONCE) {
        if (!session.idle() || !session.connection().writable(message.body().length)) return false;
        session.outbound().sendKept(message, true, identifiers);
      } else {
        if (!session.outbound().sendsAtOnce(message.body().length)) return false;
        session.loop().counts().copies().received(message, session);
        session.outbound().take(new Outgoing(message, qos, true, identifiers, null));
      }
    }
    return true;
  }

  private void readAgain(Publication message, Request request) {
    changing.add(new Changing(message.topic(), request));
    if (topicAgain == null) changingDue++;
  }
}
