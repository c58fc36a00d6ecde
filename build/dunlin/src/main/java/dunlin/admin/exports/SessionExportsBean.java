package dunlin.admin.exports;

import dunlin.broker.ApplicationPublisher;
import dunlin.broker.auth.Identity;
import dunlin.broker.session.SubscribeRules;
import dunlin.broker.tenant.Entrance;
import dunlin.broker.tenant.Tenant;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.SessionExports.Begun;
import dunlin.inbox.SessionExports.Ended;
import dunlin.inbox.SessionExports.Imported;
import dunlin.inbox.SessionExports.OfGroup;
import dunlin.inbox.SessionExports.Page;
import dunlin.inbox.SessionExports.Part;
import dunlin.inbox.SessionExports.Subscribed;
import dunlin.inbox.SessionExports.Waiting;
import dunlin.inbox.SessionExports;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.NodeBeans;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Exports the durable sessions whose ranges this node leads, as lines, and makes sessions of such lines. */
public final class SessionExportsBean implements SessionExportsMXBean {
  /*
   * Owner: any thread that may block; keeps nothing. A cursor names the row behind which a page begins, so it stays valid.
   * Bounds: a page has at most LINES_AT_ONCE lines and BYTES_MAX bytes, and one line more. Of an import, the lines of ExportsMXBean.LINES_MAX characters are in memory.
   * Failure: a line that is wrong ends its import before anything is done. A session that no client could have here is refused as a whole (ImportedParts). When a range
   * fails, what was imported stays, and all lines can be imported again.
   * Mixed versions: an import adds commands to the log of the sessions that nodes of earlier versions cannot read. So it is refused unless each node of the cluster that
   * may be up has said that it can.
   */
  private static final Logger log = LoggerFactory.getLogger(SessionExportsBean.class);
  private static final int LINES_AT_ONCE = 500;
  private static final int BYTES_MAX = 512 * 1_024;

  private final ApplicationPublisher publisher;
  private final SessionExports sessions;
  private final SubscribeRules rules;
  private final Function<String, Tenant> tenants;
  private final Supplier<List<String>> unready;

  /**
   * @param publisher knows what messages may be
   * @param rules what clients may subscribe to, before the limits of their tenants
   * @param tenants what is in force for a tenant now
   * @param unready a sentence for each other node that may be up, and has not said that it can apply imports
   */
  public SessionExportsBean(
      ApplicationPublisher publisher, SessionExports sessions, SubscribeRules rules, Function<String, Tenant> tenants, Supplier<List<String>> unready) {
    this.publisher = publisher;
    this.sessions = sessions;
    this.rules = rules;
    this.tenants = tenants;
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
    Tenant of = tenants.apply(checked.tenant());
    Optional<Entrance.Refused> away = of.away().filter(refused -> refused.reason() != ReasonCode.BANNED); // that of a suspended one may be filled before it is resumed
    if (away.isPresent()) throw new IllegalStateException("sessions are not imported: " + away.get().explanation());
    ImportedParts parts = new ImportedParts(checked.tenant(), publisher, rules.in(of), sessions.now());
    parts.read(ExportedLines.sessions(lines, firstLine));
    List<String> not = unready.get();
    if (!not.isEmpty()) throw new IllegalStateException("sessions are imported when all nodes of the cluster say that they can apply that: " + String.join("; ", not));
    Imported done = sessions.importAll(checked.tenant(), parts.parts(), parts.allowed());
    Map<String, Integer> refused = parts.allRefused(done.refused());
    log.info(
        "An operator has imported {} sessions; {} were there before, and these were refused: {} {}", done.sessions(), done.existing(), refused,
        LogText.escaped(String.join("; ", parts.sentences())));
    return new ImportedSessions(done.sessions(), done.existing(), done.unfinished(), done.messages(), done.expired(), refused, parts.sentences());
  }
}
