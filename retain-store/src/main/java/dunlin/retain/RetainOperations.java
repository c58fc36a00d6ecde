package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.LogText;
import dunlin.store.RangeReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lists and deletes retained messages for an operator. */
final class RetainOperations implements RetainedMessagesMXBean {
  /*
   * A deletion goes through the log like a client's empty message [MQTT-3.3.1-6], and in order with these.
   *
   * Owner: any thread that may block.
   * Bounds: PAGE_MAX topics at a time, listed or being deleted. Pages come from the index; a listing reads the rows for
   * their sizes.
   * Failure: a deletion that the range refuses ends the operation with its reason; earlier deletions stay.
   */
  private static final Logger log = LoggerFactory.getLogger(RetainOperations.class);
  private static final int PAGE_MAX = 1_000;
  private static final int DELETIONS_MAX = 1_000_000;
  private static final long PATIENCE_SECONDS = 60;

  /** Bytes of a payload that are shown. */
  private static final int PAYLOAD_MAX = 65_536;

  private final TopicRanges ranges;
  private final List<RetainRangeServer> servers;
  private final RetainClient client;

  /** The keys of a page that are in one range. */
  private record Part(RetainRangeServer server, List<byte[]> keys) {}

  /**
   * @param servers one for each range
   * @param client deletes the messages
   */
  RetainOperations(TopicRanges ranges, List<RetainRangeServer> servers, RetainClient client) {
    this.ranges = ranges;
    this.servers = servers;
    this.client = client;
  }

  @Override
  public long getTopics() {
    return client.count().join();
  }

  @Override
  public List<RetainedRow> list(String tenant, String prefix, String after, int max) {
    require(max, PAGE_MAX);
    var listed = new ArrayList<RetainedRow>();
    for (Part part : page(tenant, prefix, after, max)) {
      var rows = part.server().reading(reader -> part.keys().stream().map(key -> row(key, reader)).toList());
      listed.addAll(await(rows, "retained messages were not read"));
    }
    return listed;
  }

  private static RetainedRow row(byte[] key, RangeReader rows) {
    byte[] row = rows.get(key);
    return new RetainedRow(TopicKeys.topic(key), row == null ? 0 : row.length);
  }

  /** A page of keys behind a topic. */
  private List<Part> page(String tenant, String prefix, String after, int max) {
    byte[] beginning = TopicKeys.of(tenant, prefix);
    byte[] target = beginning;
    if (!after.isEmpty()) {
      byte[] last = TopicKeys.of(tenant, after);
      // A topic that sorts before the prefix does not move the start of the page.
      if (Arrays.compareUnsigned(last, beginning) >= 0) target = following(last);
    }
    var parts = new ArrayList<Part>();
    int left = max;
    for (int i = ranges.of(target, target.length); i < ranges.count() && left > 0; i++) {
      var keys = keys(servers.get(i).applied().index(), beginning, target, left);
      if (!keys.isEmpty()) parts.add(new Part(servers.get(i), keys));
      left -= keys.size();
    }
    return parts;
  }

  /** Keys with this prefix, from the given key on. */
  private static List<byte[]> keys(TopicIndex index, byte[] beginning, byte[] from, int max) {
    var keys = new ArrayList<byte[]>();
    var walk = index.walk();
    byte[] target = from;
    while (keys.size() < max && walk.seek(target, target.length)) {
      byte[] key = walk.copy();
      if (key.length < beginning.length || !Arrays.equals(key, 0, beginning.length, beginning, 0, beginning.length)) break;
      keys.add(key);
      target = following(key);
    }
    return keys;
  }

  /** The lowest key that sorts after this one. */
  private static byte[] following(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  /** A message without a payload. */
  private static Publication message(String tenant, String topic) {
    return Publication.of(new Publisher(tenant, ""), topic, QoS.AT_LEAST_ONCE, true, 0, new byte[0]);
  }

  @Override
  public int delete(String tenant, String prefix, int max) {
    require(max, DELETIONS_MAX);
    int deleted = 0;
    String after = "";
    try {
      while (deleted < max) {
        var page = page(tenant, prefix, after, Math.min(PAGE_MAX, max - deleted));
        if (page.isEmpty()) break;
        for (Part part : page) {
          deleteAll(tenant, part.keys());
          deleted += part.keys().size();
          after = TopicKeys.topic(part.keys().getLast());
        }
      }
    } finally {
      log.info("An operator has deleted {} retained messages of topics that begin with {}", deleted, LogText.quoted(prefix));
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
    byte[] key = TopicKeys.of(tenant, topic);
    boolean present = page(tenant, topic, "", 1).stream().anyMatch(part -> Arrays.equals(part.keys().getFirst(), key));
    if (!present) return false;
    deleteAll(tenant, List.of(key));
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
  private static <T> T await(CompletableFuture<T> answer, String otherwise) {
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

  private static void require(int max, int most) {
    if (max < 1 || max > most) throw new IllegalArgumentException("max is %d; it must be from 1 to %d".formatted(max, most));
  }
}
