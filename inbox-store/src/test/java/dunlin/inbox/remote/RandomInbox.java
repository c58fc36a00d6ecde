package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Appended;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Statistics;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.KeptConnections.Owner;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.OtherUserException;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.Terms;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/** Calls, answers and messages by chance, of all kinds. */
final class RandomInbox {
  private static final String[] TEXTS = {"", "a", "client", "tënant", "日本", "😀", "x".repeat(300)};
  private static final String[] FILTERS = {"a/b", "#", "+/x", "$share/g/a/#", "$oshare/group/+", "/", "ä"};
  private static final int CALL_KINDS = 18;

  private final Random random;

  RandomInbox(Random random) {
    this.random = random;
  }

  String text() {
    return TEXTS[random.nextInt(TEXTS.length)];
  }

  long number() {
    return random.nextLong() >>> random.nextInt(64);
  }

  TopicFilter filter() {
    return TopicFilter.parse(FILTERS[random.nextInt(FILTERS.length)]).orElseThrow();
  }

  SubscriptionOptions options() {
    int identifier = random.nextBoolean() ? 0 : 1 + random.nextInt(SubscriptionOptions.SUBSCRIPTION_IDENTIFIER_MAX);
    return new SubscriptionOptions(QoS.of(random.nextInt(3)), random.nextBoolean(), random.nextBoolean(), random.nextInt(3), identifier);
  }

  SessionRef session() {
    return new SessionRef(text(), text(), number());
  }

  ConnectionId connection() {
    return new ConnectionId(text(), random.nextLong(), random.nextLong());
  }

  <T> List<T> list(int max, Supplier<T> element) {
    var list = new ArrayList<T>();
    for (int left = random.nextInt(max + 1); left > 0; left--) list.add(element.get());
    return list;
  }

  int[] identifiers() {
    return random.ints(random.nextInt(4), 1, SubscriptionOptions.SUBSCRIPTION_IDENTIFIER_MAX + 1).toArray();
  }

  /** With properties and an expiry, or without. */
  Publication publication() {
    byte[] topic = ("t/" + text()).getBytes(StandardCharsets.UTF_8);
    int properties = random.nextBoolean() ? 4 + random.nextInt(30) : 0;
    byte[] body = new byte[topic.length + properties + random.nextInt(random.nextInt(40) == 0 ? 5_000 : 60)];
    random.nextBytes(body);
    System.arraycopy(topic, 0, body, 0, topic.length);
    boolean expires = properties > 0 && random.nextBoolean();
    int expirySeconds = expires ? random.nextInt() : Publication.NEVER_EXPIRES;
    int expiryOffset = expires ? topic.length + random.nextInt(properties - 3) : -1;
    return new Publication(
        new Publisher(text(), text()), QoS.of(random.nextInt(3)), random.nextBoolean(), random.nextLong(1L << 42), expirySeconds, expiryOffset,
        topic.length, properties, body, null);
  }

  InboxMessage message() {
    return new InboxMessage(
        number() >>> 1, QoS.of(random.nextInt(3)), random.nextBoolean(), random.nextBoolean(), random.nextBoolean(), identifiers(), publication());
  }

  InboxClient.Connect connect(SessionRef session, ConnectionId connection) {
    var will = random.nextBoolean() ? new Will(publication(), number()) : null;
    return new InboxClient.Connect(
        session.tenant(), session.clientId(), text(), connection, random.nextBoolean(), random.nextBoolean(), number(), will);
  }

  /** A call of each kind in turn. */
  InboxCall call(int kind) {
    var session = session();
    return switch (kind % CALL_KINDS) {
      case 14 -> new InboxCall.Acknowledge(session, random.longs(random.nextInt(10), 0, 1_000).toArray());
      case 15 -> new InboxCall.Missing(connection());
      case 16 -> new InboxCall.HasSettled(number());
      case 17 -> new InboxCall.AreMissing(number(), random.longs(random.nextInt(10), 0, 1_000).toArray());
      default -> asking(kind, session, connection());
    };
  }

  InboxCall.Asking asking(int kind, SessionRef session, ConnectionId connection) {
    return switch (kind % 14) {
      case 0 -> new InboxCall.Connect(connect(session, connection));
      case 1 -> new InboxCall.Subscribe(session, list(4, () -> new Subscription(filter(), options())));
      case 2 -> new InboxCall.Unsubscribe(session, list(4, this::filter));
      case 3 -> new InboxCall.Disconnect(session, random.nextBoolean(), number());
      case 4 -> new InboxCall.Settled(connection());
      case 5 -> new InboxCall.Append(session, options(), number(), list(3, this::publication));
      case 6 -> new InboxCall.AppendToGroup(filter(), publication(), random.nextBoolean() ? openExchange() : null);
      case 7 -> new InboxCall.Received(session, number());
      case 8 -> new InboxCall.Released(session, number(), 1 + random.nextInt(65_535));
      case 9 -> new InboxCall.Delivered(session, list(3, () -> 1 + random.nextInt(65_535)));
      case 10 -> new InboxCall.Fetch(session, number(), 1 + random.nextInt(300), random.nextInt(1 << 20));
      case 11 -> new InboxCall.Forget(session, number(), 1 + random.nextInt(65_535));
      case 12 -> new InboxCall.IsTakenOver(session);
      default -> new InboxCall.Statistics();
    };
  }

  Connected connected() {
    return new Connected(
        session(), number(), random.nextBoolean(), list(4, () -> new Subscription(filter(), options())), number(), number(),
        random.ints(random.nextInt(4), 1, 65_536).toArray(), list(3, this::openExchange), random.nextBoolean() ? connection() : null);
  }

  private OpenExchange openExchange() {
    return new OpenExchange(1 + random.nextInt(65_535), number(), Terms.Origin.fromRecord(random.nextLong(), number() >>> 1, list(3, this::number)));
  }

  List<Boolean> flags() {
    return list(5, random::nextBoolean);
  }

  Appended appended() {
    return new Appended(flags(), number());
  }

  Page page() {
    return new Page(list(5, this::message), number(), random.nextBoolean());
  }

  Statistics statistics() {
    return new Statistics(number(), number(), number(), number(), number(), number(), number());
  }

  RuntimeException failure() {
    return switch (random.nextInt(5)) {
      case 0 -> new StaleSessionException(session());
      case 1 -> {
        var kinds = QuotaExceededException.Kind.values();
        yield new QuotaExceededException(kinds[random.nextInt(kinds.length)], text(), number());
      }
      case 2 -> new OtherUserException(text());
      case 3 -> new OutcomeUnknownException(text(), new StoreException("a cause"));
      default -> new StoreException(text());
    };
  }

  TierMessage said(int kind) {
    return switch (kind % 10) {
      case 0 -> new TierMessage.Push(random.nextLong(), message());
      case 1 -> new TierMessage.Behind(random.nextLong());
      case 2 -> new TierMessage.Displaced(number());
      case 3 -> new TierMessage.Dismissed(number());
      case 4 -> new TierMessage.AskSettled(number());
      case 5 -> new TierMessage.Attached();
      case 6 -> new TierMessage.Comparing();
      case 7 -> new TierMessage.AskMissing(list(4, () -> new Owner(random.nextLong(), number())));
      case 8 -> new TierMessage.Compared();
      default -> {
        byte[] bytes = new byte[random.nextInt(50)];
        random.nextBytes(bytes);
        yield new TierMessage.Answer(number(), bytes);
      }
    };
  }
}
