package dunlin.admin.exports;

import dunlin.admin.exports.SessionExportsMXBean.GroupMessage;
import dunlin.admin.exports.SessionExportsMXBean.SessionBegin;
import dunlin.admin.exports.SessionExportsMXBean.SessionEnd;
import dunlin.admin.exports.SessionExportsMXBean.SessionLine;
import dunlin.admin.exports.SessionExportsMXBean.SessionMessage;
import dunlin.admin.exports.SessionExportsMXBean.SessionSubscription;
import dunlin.broker.ApplicationPublisher;
import dunlin.broker.session.SubscribeRules;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.SessionExports.Allowed;
import dunlin.inbox.SessionExports.Begun;
import dunlin.inbox.SessionExports.Ended;
import dunlin.inbox.SessionExports.OfGroup;
import dunlin.inbox.SessionExports.Part;
import dunlin.inbox.SessionExports.Subscribed;
import dunlin.inbox.SessionExports.Waiting;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The parts of sessions that the lines of one import make, as this broker would have granted them to clients.
 *
 * <p>What it has switched off, and what the tenant may not have, is refused with a sentence. A session is refused as a whole then: its client begins with a new one, and
 * learns from SUBACK what it does not get. A subscription has no higher QoS than SUBACK would grant. Without retained messages, none is sent as one. Access rules are not
 * asked: which apply follows from how a client authenticates, so they are in force once it connects.
 */
final class ImportedParts {
  /*
   * Owner: one import, on its thread.
   * Bounds: those of the lines; SENTENCES_MAX sentences.
   * Failure: IllegalArgumentException with the number of a line that is wrong.
   */
  private static final int SENTENCES_MAX = 10;

  private final String tenant;
  private final ApplicationPublisher publisher;
  private final SubscribeRules rules;
  private final long now;

  private final List<Part> parts = new ArrayList<>();
  private final Map<String, String> refused = new HashMap<>();
  private final List<String> sentences = new ArrayList<>();
  private int groupMessagesRefused;

  /**
   * @param publisher knows what messages may be
   * @param rules those of the tenant
   * @param now by the clock of the session tier
   */
  ImportedParts(String tenant, ApplicationPublisher publisher, SubscribeRules rules, long now) {
    this.tenant = tenant;
    this.publisher = publisher;
    this.rules = rules;
    this.now = now;
  }

  /** Those of which the session tier makes sessions. */
  List<Part> parts() {
    return parts;
  }

  Allowed allowed() {
    return new Allowed(rules.subscriptionsMax(), refused);
  }

  /** Why lines were refused, for the first ones. */
  List<String> sentences() {
    return sentences;
  }

  /** What the session tier has refused, and the messages of groups that it was not given, by reason. */
  Map<String, Integer> allRefused(Map<String, Integer> byTier) {
    Map<String, Integer> all = new HashMap<>(byTier);
    if (groupMessagesRefused > 0) all.merge(ReasonCode.QOS_NOT_SUPPORTED.label(), groupMessagesRefused, Integer::sum);
    return all;
  }

  void read(ExportedLines<SessionLine> lines) {
    Part before = null;
    while (lines.hasNext()) {
      SessionLine line = lines.next();
      try {
        before = add(line, before, lines.number());
      } catch (IllegalArgumentException bad) {
        throw ExportedLines.wrong(lines.number(), String.valueOf(bad.getMessage()), bad);
      }
    }
  }

  /** Answers the part that the line is. */
  private Part add(SessionLine line, @Nullable Part before, long number) {
    Part part = part(line);
    checkOrder(before, part);
    switch (part) {
      case OfGroup _ when isBeyond(qos(line)) -> {
        groupMessagesRefused++;
        explain(number, beyond(line));
      }
      case Waiting _ when isBeyond(qos(line)) -> {
        refuse(part, ReasonCode.QOS_NOT_SUPPORTED, number, beyond(line));
        parts.add(part);
      }
      case Subscribed subscribed -> parts.add(granted(subscribed, number));
      case Begun _, Waiting _, Ended _, OfGroup _ -> parts.add(part);
    }
    return part;
  }

  private static int qos(SessionLine line) {
    SessionMessage message = line.message();
    GroupMessage ofGroup = line.groupMessage();
    return message != null ? message.qos() : ofGroup != null ? ofGroup.qos() : 0;
  }

  private boolean isBeyond(int qos) {
    return qos > rules.features().maximumQoS().code();
  }

  private String beyond(SessionLine line) {
    return "a message has QoS %d, the maximum is %d (dunlin.mqtt.maximum-qos, or the limit of the tenant)".formatted(qos(line), rules.features().maximumQoS().code());
  }

  private Subscribed granted(Subscribed asked, long number) {
    SubscribeRules.Refusal refusal = rules.refusal(asked.filter(), asked.options());
    if (refusal != null) refuse(asked, refusal.reason(), number, "the topic filter: " + refusal.explanation());
    return new Subscribed(asked.clientId(), asked.filter(), rules.granted(asked.options()));
  }

  private void refuse(Part part, ReasonCode reason, long number, String why) {
    if (refused.putIfAbsent(part.clientId(), reason.label()) == null) explain(number, why);
  }

  private void explain(long number, String why) {
    if (sentences.size() < SENTENCES_MAX) sentences.add("line %d: %s".formatted(number, why));
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

  private Part part(SessionLine line) {
    SessionBegin begins = line.session();
    if (begins != null) return begun(begins);
    SessionMessage message = line.message();
    if (message != null) return new Waiting(client(message.clientId()), waiting(message));
    SessionSubscription subscription = line.subscription();
    if (subscription != null) return subscribed(subscription);
    SessionEnd ends = line.end();
    if (ends != null) return ended(ends);
    GroupMessage ofGroup = line.groupMessage();
    if (ofGroup != null) return ofGroup(ofGroup);
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

  private InboxMessage waiting(SessionMessage line) {
    if (line.sequence() == 0) throw new IllegalArgumentException("there is no sequence");
    if (line.released() && line.qos() != 2) throw new IllegalArgumentException("only messages of QoS 2 are released");
    if (line.identifiers().contains(0)) throw new IllegalArgumentException("0 is no Subscription Identifier");
    Publication message = message(line.publisher(), line.topic(), line.qos(), line.retain(), line.ageSeconds(), line.properties(), line.payload());
    int[] identifiers = line.identifiers().stream().mapToInt(Integer::intValue).toArray();
    return new InboxMessage(line.sequence(), message.qos(), message.retain(), line.released(), line.sent(), identifiers, message);
  }

  private OfGroup ofGroup(GroupMessage line) {
    TopicFilter filter = filter(line.filter());
    if (!filter.shared()) throw new IllegalArgumentException("not the filter of a shared subscription");
    return new OfGroup(
        filter, message(line.publisher(), line.topic(), line.qos(), line.retain(), line.ageSeconds(), line.properties(), line.payload()));
  }

  /** @throws IllegalArgumentException when no client could have published it, or no inbox keeps it */
  private Publication message(String from, String topic, int qos, boolean retain, long ageSeconds, String properties, String payload) {
    if (qos == 0) throw new IllegalArgumentException("messages of QoS 0 wait in no inbox");
    Publisher by = new Publisher(tenant, MessageText.checked(from, "the publisher is no client identifier"));
    return publisher.message(
        by, topic, QoS.of(qos).min(rules.features().maximumQoS()), retain && rules.features().retain(), now - 1_000 * ageSeconds, MessageText.propertiesOf(properties),
        MessageText.payloadOf(payload));
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
