package dunlin.admin.exports;

import dunlin.broker.ApplicationPublisher;
import dunlin.broker.auth.Identity;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionExports.Begun;
import dunlin.inbox.SessionExports.Ended;
import dunlin.inbox.SessionExports.Imported;
import dunlin.inbox.SessionExports.OfGroup;
import dunlin.inbox.SessionExports.Page;
import dunlin.inbox.SessionExports.Part;
import dunlin.inbox.SessionExports.Subscribed;
import dunlin.inbox.SessionExports.Waiting;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.runtime.metrics.NodeBeans;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Exports the durable sessions whose ranges this node leads, as lines, and makes sessions of such lines. */
public final class SessionExportsBean implements SessionExportsMXBean {
  /*
   * Owner: any thread that may block; keeps nothing. A cursor names the row behind which a page begins, so it stays valid.
   * Bounds: a page has at most LINES_AT_ONCE lines and BYTES_MAX bytes, and one line more. Of an import, the lines of ExportsMXBean.LINES_MAX characters are in memory.
   * Failure: a line that is wrong ends its import before anything is done. When a range fails, what was imported stays, and all lines can be imported again.
   * Mixed versions: an import adds commands to the log of the sessions that nodes of earlier versions cannot read. So it is refused unless each node of the cluster that
   * may be up has said that it can.
   */
  private static final Logger log = LoggerFactory.getLogger(SessionExportsBean.class);
  private static final int LINES_AT_ONCE = 500;
  private static final int BYTES_MAX = 512 * 1_024;

  private final ApplicationPublisher publisher;
  private final SessionExports sessions;
  private final Supplier<List<String>> unready;

  /**
   * @param publisher knows what messages may be
   * @param unready a sentence for each other node that may be up, and has not said that it can apply imports
   */
  public SessionExportsBean(ApplicationPublisher publisher, SessionExports sessions, Supplier<List<String>> unready) {
    this.publisher = publisher;
    this.sessions = sessions;
    this.unready = unready;
  }

  @Override
  public SessionPage exportSessions(String tenant, String prefix, String cursor, int max) {
    NodeBeans.requireMax(max, LINES_AT_ONCE);
    Identity checked = new Identity(tenant, ""); // throws for a tenant that no client can have
    byte[] from = cursor.isEmpty() ? null : MessageText.positionOf(cursor);
    Page page = sessions.page(checked.tenant(), MessageText.checked(prefix, "no beginning of client identifiers"), from, max, BYTES_MAX);
    long now = sessions.now();
    byte[] next = page.next();
    return new SessionPage(page.parts().stream().map(part -> line(part, now)).toList(), next == null ? "" : MessageText.cursor(next));
  }

  private static SessionLine line(Part part, long now) {
    return switch (part) {
      case Begun(var clientId, var user, var received) -> new SessionLine(new SessionBegin(clientId, user, received), null, null, null, null);
      case Waiting(var clientId, var message) -> new SessionLine(null, line(clientId, message, now), null, null, null);
      case Subscribed(var clientId, var filter, var options) ->
          new SessionLine(
              null, null,
              new SessionSubscription(
                  clientId, filter.text(), options.maximumQoS().code(), options.noLocal(), options.retainAsPublished(), options.retainHandling(),
                  options.subscriptionIdentifier()),
              null, null);
      case Ended(var clientId, var seconds) -> new SessionLine(null, null, null, new SessionEnd(clientId, seconds), null);
      case OfGroup(var group, var message) ->
          new SessionLine(
              null, null, null, null,
              new GroupMessage(
                  group.text(), message.topic(), message.qos().code(), message.retain(), message.publisher().clientId(), age(message, now), MessageText.properties(message),
                  MessageText.payload(message)));
    };
  }

  private static SessionMessage line(String clientId, InboxMessage waiting, long now) {
    Publication message = waiting.message();
    return new SessionMessage(
        clientId, waiting.sequence(), message.topic(), waiting.qos().code(), waiting.retain(), waiting.released(), waiting.delivered(),
        IntStream.of(waiting.subscriptionIdentifiers()).boxed().toList(), message.publisher().clientId(), age(message, now), MessageText.properties(message),
        MessageText.payload(message));
  }

  private static long age(Publication message, long now) {
    return Math.max(0, now - message.acceptedAtMillis()) / 1_000;
  }

  @Override
  public ImportedSessions importSessions(String tenant, String lines, long firstLine) {
    Identity checked = new Identity(tenant, "");
    List<Part> parts = parts(checked.tenant(), ExportedLines.sessions(lines, firstLine), sessions.now());
    List<String> not = unready.get();
    if (!not.isEmpty()) throw new IllegalStateException("sessions are imported when all nodes of the cluster say that they can apply that: " + String.join("; ", not));
    Imported done = sessions.importAll(checked.tenant(), parts);
    log.info("An operator has imported {} sessions; {} were there before, and these were refused: {}", done.sessions(), done.existing(), done.refused());
    return new ImportedSessions(done.sessions(), done.existing(), done.unfinished(), done.messages(), done.expired(), done.refused());
  }

  private List<Part> parts(String tenant, ExportedLines<SessionLine> lines, long now) {
    List<Part> parts = new ArrayList<>();
    Part before = null;
    while (lines.hasNext()) {
      SessionLine line = lines.next();
      try {
        Part part = part(tenant, line, now);
        checkOrder(before, part);
        parts.add(part);
        before = part;
      } catch (IllegalArgumentException bad) {
        throw ExportedLines.wrong(lines.number(), String.valueOf(bad.getMessage()), bad);
      }
    }
    return parts;
  }

  /** Within a session messages ascend, and come before subscriptions, since messages that subscriptions bring come behind them. */
  private static void checkOrder(@Nullable Part before, Part next) {
    if (before == null || !before.clientId().equals(next.clientId()) || next instanceof Begun || next instanceof OfGroup) return;
    boolean follows =
        switch (before) {
          case Begun _, OfGroup _ -> true;
          case Waiting(_, var message) -> !(next instanceof Waiting(_, var later)) || later.sequence() > message.sequence();
          case Subscribed _ -> !(next instanceof Waiting);
          case Ended _ -> false;
        };
    if (!follows) throw new IllegalArgumentException("it is out of order: a session has its messages in their order, its subscriptions, and its end");
  }

  private Part part(String tenant, SessionLine line, long now) {
    SessionBegin begins = line.session();
    if (begins != null) return begun(begins);
    SessionMessage message = line.message();
    if (message != null) return new Waiting(client(message.clientId()), waiting(tenant, message, now));
    SessionSubscription subscription = line.subscription();
    if (subscription != null) return subscribed(subscription);
    SessionEnd ends = line.end();
    if (ends != null) return ended(ends);
    GroupMessage ofGroup = line.groupMessage();
    if (ofGroup != null) return ofGroup(tenant, ofGroup, now);
    throw new IllegalArgumentException("it says nothing");
  }

  private static Begun begun(SessionBegin line) {
    if (line.received().contains(0)) throw new IllegalArgumentException("0 is no packet identifier");
    return new Begun(client(line.clientId()), MessageText.checked(line.user(), "no user name"), line.received());
  }

  private static Ended ended(SessionEnd line) {
    if (line.expirySeconds() == 0) throw new IllegalArgumentException("the session would expire at once");
    return new Ended(client(line.clientId()), line.expirySeconds());
  }

  private static String client(String clientId) {
    if (clientId.isEmpty()) throw new IllegalArgumentException("there is no client identifier");
    return MessageText.checked(clientId, "no client identifier");
  }

  private InboxMessage waiting(String tenant, SessionMessage line, long now) {
    if (line.sequence() == 0) throw new IllegalArgumentException("there is no sequence");
    if (line.released() && line.qos() != 2) throw new IllegalArgumentException("only messages of QoS 2 are released");
    if (line.identifiers().contains(0)) throw new IllegalArgumentException("0 is no Subscription Identifier");
    Publication message = message(tenant, line.publisher(), line.topic(), line.qos(), line.retain(), now - 1_000 * line.ageSeconds(), line.properties(), line.payload());
    int[] identifiers = line.identifiers().stream().mapToInt(Integer::intValue).toArray();
    return new InboxMessage(line.sequence(), message.qos(), line.retain(), line.released(), line.sent(), identifiers, message);
  }

  private OfGroup ofGroup(String tenant, GroupMessage line, long now) {
    TopicFilter filter = filter(line.filter());
    if (!filter.shared()) throw new IllegalArgumentException("not the filter of a shared subscription");
    return new OfGroup(
        filter, message(tenant, line.publisher(), line.topic(), line.qos(), line.retain(), now - 1_000 * line.ageSeconds(), line.properties(), line.payload()));
  }

  /** @throws IllegalArgumentException when no client could have published it, or no inbox keeps it */
  private Publication message(String tenant, String from, String topic, int qos, boolean retain, long acceptedAt, String properties, String payload) {
    if (qos == 0) throw new IllegalArgumentException("messages of QoS 0 wait in no inbox");
    Publisher by = new Publisher(tenant, MessageText.checked(from, "the publisher is no client identifier"));
    return publisher.message(by, topic, QoS.of(qos), retain, acceptedAt, MessageText.propertiesOf(properties), MessageText.payloadOf(payload));
  }

  private static Subscribed subscribed(SessionSubscription line) {
    TopicFilter filter = filter(line.filter());
    if (filter.shared() && line.noLocal()) throw new IllegalArgumentException("a shared subscription with No Local [MQTT-3.8.3-4]");
    return new Subscribed(
        client(line.clientId()), filter, new SubscriptionOptions(QoS.of(line.qos()), line.noLocal(), line.retainAsPublished(), line.retainHandling(), line.identifier()));
  }

  private static TopicFilter filter(String text) {
    return TopicFilter.parse(MessageText.checked(text, "no topic filter")).orElseThrow(() -> new IllegalArgumentException("no topic filter"));
  }
}
