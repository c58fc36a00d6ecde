package dunlin.admin.exports;

import dunlin.broker.ApplicationPublisher;
import dunlin.broker.auth.Identity;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainOperations;
import dunlin.runtime.metrics.NodeBeans;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Exports what topics retain, and sets it again, by the calls that frontends make for clients. */
public final class Exports implements ExportsMXBean {
  /*
   * Owner: any thread that may block; keeps nothing. A cursor is the key behind which a page begins, so it stays valid.
   * Bounds: a page has at most MESSAGES_MAX messages and BYTES_MAX bytes, and one message more. Of an import, the messages of LINES_MAX characters are in memory,
   * and AT_A_TIME of them on their way to the log.
   * Failure: a line that is wrong ends its import before anything is done. When the tier refuses a message, such as beyond its limits, the import ends with those
   * that were on their way; the answer has how many were imported. All lines can be imported again: the outcome is the same.
   */
  private static final Logger log = LoggerFactory.getLogger(Exports.class);
  private static final int MESSAGES_MAX = 500;
  private static final int BYTES_MAX = 512 * 1_024;
  private static final int AT_A_TIME = 256;

  private final ApplicationPublisher publisher;
  private final RetainClient retained;
  private final InstantSource wallClock;

  /**
   * @param publisher knows what messages may be
   * @param retained the retain tier of the whole cluster
   */
  public Exports(ApplicationPublisher publisher, RetainClient retained, InstantSource wallClock) {
    this.publisher = publisher;
    this.retained = retained;
    this.wallClock = wallClock;
  }

  @Override
  public ExportPage exportRetained(String tenant, String filter, String cursor, int max) {
    NodeBeans.requireMax(max, MESSAGES_MAX);
    Identity checked = new Identity(tenant, ""); // throws for a tenant that no client can have
    Cursor after = cursor.isEmpty() ? null : new Cursor(MessageText.positionOf(cursor));
    RetainClient.Page page = RetainOperations.await(retained.find(checked.tenant(), filter, after, max, BYTES_MAX), "retained messages were not read");
    Cursor next = page.next();
    return new ExportPage(
        page.messages().stream().map(Exports::exported).toList(), next == null ? "" : MessageText.cursor(next.key()));
  }

  private static RetainedExport exported(Publication message) {
    return new RetainedExport(
        message.topic(), message.qos().code(), message.publisher().clientId(), Instant.ofEpochMilli(message.acceptedAtMillis()).toString(),
        MessageText.properties(message), MessageText.payload(message));
  }

  /** A message and the number of its line. */
  private record Line(long number, Publication message) {}

  @Override
  public Imported importRetained(String tenant, String existing, String lines, long firstLine) {
    Identity checked = new Identity(tenant, "");
    if (!EXISTING.contains(existing)) throw new IllegalArgumentException("existing messages are one of " + String.join(", ", EXISTING));
    long now = wallClock.millis();
    List<Line> lasting = new ArrayList<>();
    int expired = 0;
    for (ExportedLines<RetainedExport> read = ExportedLines.retained(lines, firstLine); read.hasNext(); ) {
      Line line = line(checked.tenant(), read, now);
      if (line.message().expired(now)) expired++;
      else lasting.add(line);
    }
    Imported done = set(lasting, existing.equals("replace"), expired);
    log.info("An operator has imported {} retained messages; {} topics kept theirs, and {} messages had expired", done.imported(), done.kept(), done.expired());
    return done;
  }

  private Line line(String tenant, ExportedLines<RetainedExport> from, long now) {
    RetainedExport read = from.next();
    try {
      return new Line(from.number(), message(tenant, read, now));
    } catch (IllegalArgumentException bad) {
      throw ExportedLines.wrong(from.number(), String.valueOf(bad.getMessage()), bad);
    }
  }

  /** @throws IllegalArgumentException when no client could have published it */
  private Publication message(String tenant, RetainedExport line, long now) {
    String clientId = MessageText.checked(line.publisher(), "the publisher is no client identifier");
    byte[] properties = MessageText.propertiesOf(line.properties());
    byte[] payload = MessageText.payloadOf(line.payload());
    if (payload.length == 0) throw new IllegalArgumentException("there is no payload; an empty one would remove what the topic has [MQTT-3.3.1-6]");
    long acceptedAt = line.acceptedAt().isEmpty() ? now : Math.min(now, millis(line.acceptedAt()));
    return publisher.message(new Publisher(tenant, clientId), line.topic(), QoS.of(line.qos()), true, acceptedAt, properties, payload);
  }

  private static long millis(String text) {
    try {
      return Math.max(0, Instant.parse(text).toEpochMilli());
    } catch (DateTimeException | ArithmeticException wrong) {
      throw new IllegalArgumentException("the time acceptedAt is not one such as 2026-01-31T12:00:00Z", wrong);
    }
  }

  /** Sets them, some at a time, so that a refusal ends the import soon. */
  private Imported set(List<Line> lines, boolean replace, int expired) {
    int imported = 0;
    int kept = 0;
    for (int from = 0; from < lines.size(); from += AT_A_TIME) {
      List<Line> some = lines.subList(from, Math.min(lines.size(), from + AT_A_TIME));
      List<CompletableFuture<Optional<ReasonCode>>> answers = some.stream().map(line -> set(line.message(), replace)).toList();
      String refusal = "";
      for (int i = 0; i < some.size(); i++) {
        Optional<ReasonCode> reason = RetainOperations.await(answers.get(i), "retained messages were not imported");
        if (reason.isEmpty()) kept++;
        else if (reason.get() == ReasonCode.SUCCESS) imported++;
        else if (refusal.isEmpty()) refusal = "line %d was refused as %s".formatted(some.get(i).number(), reason.get().label());
      }
      if (!refusal.isEmpty()) {
        throw new IllegalStateException(
            "%s; of the lines up to %d, %d were imported, and %d topics kept theirs".formatted(refusal, some.getLast().number(), imported, kept));
      }
    }
    return new Imported(imported, kept, expired);
  }

  private CompletableFuture<Optional<ReasonCode>> set(Publication message, boolean replace) {
    var answer = new CompletableFuture<Optional<ReasonCode>>();
    if (replace) retained.set(message, reason -> answer.complete(Optional.of(reason)));
    else retained.add(message, answer::complete);
    return answer;
  }
}
