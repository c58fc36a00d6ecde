package dunlin.broker;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.retain.RetainClient;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Brings the retained messages that new subscriptions call for to one client, page by page, as fast as the client takes them;
 * MQTT 5, section 3.3.1.3. There is no limit on how many match.
 */
final class RetainedReader {
  /*
   * Owner: the connection's event loop.
   * It lasts until all that was requested is read.
   * Bounds: one page in memory at a time, asked for when nothing waits for the client any more, so all of it is taken even
   *   when the socket fills up meanwhile; a request for each subscription at most.
   * Failure: a page that cannot be read closes the connection, for the client could not know that it got only a part.
   */
  private static final int PAGE_MESSAGES = 256;
  private static final int PAGE_BYTES = 128 * 1_024;
  private static final int[] NO_IDENTIFIERS = {};

  private final LiveSession session;

  private final ArrayDeque<Request> requests = new ArrayDeque<>(2);
  private boolean reading;
  private RetainClient.@Nullable Cursor cursor;

  private record Request(String filter, SubscriptionOptions options) {}

  RetainedReader(LiveSession session) {
    this.session = session;
  }

  void request(String filter, SubscriptionOptions options) {
    requests.add(new Request(filter, options));
    read();
  }

  /** Reads on, when there is something to read and the client has taken what was read before. */
  void read() {
    if (reading) return;
    Request request = requests.peek();
    if (request == null) {
      session.retainedRead();
      return;
    }
    if (!session.idle() || !session.caughtUp()) return;
    reading = true;
    session
        .frontend()
        .retain()
        .find(session.publisher().tenant(), request.filter(), cursor, PAGE_MESSAGES, PAGE_BYTES)
        .whenComplete((page, failure) -> session.loop().post(() -> found(request, page, failure)));
  }

  private void found(Request request, RetainClient.@Nullable Page page, @Nullable Throwable failure) {
    if (session.ended()) return;
    if (failure != null || page == null) {
      session.connection().storeFailed("reading retained messages", failure);
      return;
    }
    cursor = page.next();
    if (cursor == null) requests.remove();
    List<Publication> toStore = new ArrayList<>();
    int identifier = request.options().subscriptionIdentifier();
    int[] identifiers = identifier == 0 ? NO_IDENTIFIERS : new int[] {identifier};
    for (Publication message : page.messages()) {
      QoS qos = message.qos().min(request.options().maximumQoS());
      if (qos == QoS.AT_MOST_ONCE) {
        session.outbound().sendKept(message, true, identifiers);
      } else if (session.durable()) {
        toStore.add(message);
      } else {
        session.loop().counts().copies().received();
        session.outbound().take(new Outgoing(message, qos, true, identifiers, null));
      }
    }
    if (toStore.isEmpty()) {
      reading = false;
      read();
    } else {
      store(request, toStore);
    }
  }

  /** QoS 1 and 2 of a durable session go through its inbox, which gives them their places in its order. */
  private void store(Request request, List<Publication> messages) {
    session.frontend().inbox().append(session.ref(), request.options(), messages).whenComplete(
        (_, failure) ->
            session.loop().post(
                () -> {
                  reading = false;
                  if (session.ended()) return;
                  if (failure != null) {
                    session.connection().storeFailed("storing retained messages", failure);
                  } else {
                    read();
                  }
                }));
  }
}
