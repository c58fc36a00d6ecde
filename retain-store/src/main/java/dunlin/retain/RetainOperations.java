package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Row;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.NodeBeans;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lists and deletes retained messages for an operator. */
public final class RetainOperations implements RetainedMessagesMXBean {
  /*
   * A deletion goes through the log like a client's empty message [MQTT-3.3.1-6], and in order with these.
   *
   * Owner: any thread that may block.
   * Bounds: PAGE_MAX topics at a time, listed or being deleted. They come from the index; rows are read for their sizes. To be deleted by a filter, messages are read, of
   * PAGE_BYTES_MAX bytes and one message more.
   * Failure: a deletion that the range refuses ends the operation with its reason; earlier deletions stay.
   */
  private static final Logger log = LoggerFactory.getLogger(RetainOperations.class);
  private static final int PAGE_MAX = 1_000;
  private static final int PAGE_BYTES_MAX = 512 * 1_024;
  private static final int DELETIONS_MAX = 1_000_000;
  private static final long PATIENCE_SECONDS = 60;

  /** Bytes of a payload that are shown. */
  private static final int PAYLOAD_MAX = 65_536;

  private final RetainClient client;
  private final Lister lister;
  private final Supplier<Sums> sums;
  private final RetainBounds bounds;
  private final BooleanSupplier diskLow;

  /** Lists the keys that begin with a prefix, from a key on, a part at a time. */
  @FunctionalInterface
  public interface Lister {
    CompletableFuture<Listing> list(byte[] prefix, byte[] from, int max);
  }

  private RetainOperations(RetainClient client, Lister lister, Supplier<Sums> sums, RetainBounds bounds, BooleanSupplier diskLow) {
    this.client = client;
    this.lister = lister;
    this.sums = sums;
    this.bounds = bounds;
    this.diskLow = diskLow;
  }

  /**
   * The operations on a retain tier.
   *
   * @param client reads and deletes messages
   * @param sums what it has; answers at once
   * @param bounds of what it may have
   * @param diskLow whether the disk of this node is nearly full for what it leads
   */
  public static RetainedMessagesMXBean over(RetainClient client, Lister lister, Supplier<Sums> sums, RetainBounds bounds, BooleanSupplier diskLow) {
    return new RetainOperations(client, lister, sums, bounds, diskLow);
  }

  @Override
  public long getTopics() {
    return sums.get().messages();
  }

  @Override
  public RetainedOutlook outlook(String tenant, String topic) {
    requireName(topic);
    Sums now = sums.get();
    return new RetainedOutlook(
        isPresent(tenant, topic), now.messages(), bounds.messagesMax(), now.topicBytes(), bounds.topicBytesMax(), now.bytes(), bounds.bytesMax(),
        diskLow.getAsBoolean());
  }

  /** Whether a topic has a message, expired or not. */
  private boolean isPresent(String tenant, String topic) {
    byte[] key = TopicKeys.of(tenant, topic);
    return page(tenant, topic, "", 1).stream().anyMatch(row -> Arrays.equals(row.key(), key));
  }

  @Override
  public List<RetainedRow> list(String tenant, String prefix, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    return page(tenant, prefix, after, max).stream().map(row -> new RetainedRow(TopicKeys.topic(row.key()), row.bytes())).toList();
  }

  /** A page behind a topic. It is full, or the last one. */
  private List<Row> page(String tenant, String prefix, String after, int max) {
    byte[] beginning = TopicKeys.of(tenant, prefix);
    byte[] from = beginning;
    if (!after.isEmpty()) {
      byte[] last = TopicKeys.of(tenant, after);
      // A topic that sorts before the prefix does not move the start of the page.
      if (Arrays.compareUnsigned(last, beginning) >= 0) from = TopicKeys.following(last);
    }
    var rows = new ArrayList<Row>();
    while (from != null && rows.size() < max) {
      var listing = await(lister.list(beginning, from, max - rows.size()), "retained messages were not read");
      rows.addAll(listing.rows());
      from = listing.next();
    }
    return rows;
  }

  /** A message without a payload. */
  private static Publication message(String tenant, String topic) {
    return Publication.of(new Publisher(tenant, ""), topic, QoS.AT_LEAST_ONCE, true, 0, new byte[0]);
  }

  @Override
  public int delete(String tenant, String prefix, int max) {
    NodeBeans.requireMax(max, DELETIONS_MAX);
    int deleted = 0;
    String after = "";
    try {
      while (deleted < max) {
        var page = page(tenant, prefix, after, Math.min(PAGE_MAX, max - deleted));
        if (page.isEmpty()) break;
        deleteAll(tenant, page.stream().map(Row::key).toList());
        deleted += page.size();
        after = TopicKeys.topic(page.getLast().key());
      }
    } finally {
      log.info("An operator has deleted {} retained messages of topics that begin with {}", deleted, LogText.quoted(prefix));
    }
    return deleted;
  }

  @Override
  public int deleteMatching(String tenant, String filter, int max) {
    NodeBeans.requireMax(max, DELETIONS_MAX);
    int deleted = 0;
    Cursor after = null;
    try {
      do {
        RetainClient.Page page = await(client.find(tenant, filter, after, Math.min(PAGE_MAX, max - deleted), PAGE_BYTES_MAX), "retained messages were not read");
        deleteAll(tenant, page.messages().stream().map(TopicKeys::of).toList());
        deleted += page.messages().size();
        after = page.next();
      } while (after != null && deleted < max);
    } finally {
      log.info("An operator has deleted {} retained messages of topics that match {}", deleted, LogText.quoted(filter));
    }
    return deleted;
  }

  @Override
  public List<RetainedMessage> get(String tenant, String topic) {
    requireName(topic);
    RetainClient.Page found = await(client.find(tenant, topic, null, 1, 1), "the retained message was not read");
    return found.messages().stream().map(RetainOperations::shown).toList();
  }

  private static RetainedMessage shown(Publication message) {
    byte[] beginning = Arrays.copyOf(message.payload(), Math.min(PAYLOAD_MAX, message.payloadLength()));
    return new RetainedMessage(message.topic(), message.qos().code(), message.payloadLength(), Base64.getEncoder().encodeToString(beginning));
  }

  @Override
  public boolean deleteOne(String tenant, String topic) {
    requireName(topic);
    if (!isPresent(tenant, topic)) return false;
    deleteAll(tenant, List.of(TopicKeys.of(tenant, topic)));
    log.info("An operator has deleted the retained message of {}", LogText.quoted(topic));
    return true;
  }

  /** A filter would name several topics, and U+0000 stands for a slash in keys. */
  private static void requireName(String topic) {
    if (topic.isEmpty() || topic.indexOf('+') >= 0 || topic.indexOf('#') >= 0 || topic.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("not a topic name: " + LogText.quoted(topic));
    }
  }

  private void deleteAll(String tenant, List<byte[]> keys) {
    var answers = new ArrayList<CompletableFuture<ReasonCode>>();
    for (byte[] key : keys) {
      var answer = new CompletableFuture<ReasonCode>();
      answers.add(answer);
      client.set(message(tenant, TopicKeys.topic(key)), answer::complete);
    }
    for (var answer : answers) {
      var reason = await(answer, "retained messages were not deleted");
      if (reason != ReasonCode.SUCCESS) throw new IllegalStateException("retained messages were not deleted: " + reason.label());
    }
  }

  /** Waits for an answer. A failure is thrown as an exception that a JMX client can load. */
  public static <T> T await(CompletableFuture<T> answer, String otherwise) {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException(otherwise + ": " + (e.getCause() == null ? e : e.getCause()).getMessage());
    } catch (TimeoutException e) {
      throw new IllegalStateException(otherwise + " within " + PATIENCE_SECONDS + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted");
    }
  }
}
