package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient;
import dunlin.retain.RetainReplica;
import dunlin.retain.TopicKeys;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.WrongEpochException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The leaders of all ranges of retained messages of one tenant, each with a log whose entries are applied step by step, and a split among them. */
final class ModelRanges {
  private static final UUID NODE = new UUID(1, 2);

  final Map<UUID, Leader> leaders = new HashMap<>();

  /** All that was applied, over all ranges. */
  final TreeMap<byte[], Publication> rows = new TreeMap<>(Arrays::compareUnsigned);

  /** Topics whose messages were applied after later ones. */
  final List<String> reversed = new ArrayList<>();

  /** The maps of the cluster that are to be published, in their order. */
  final ArrayDeque<List<RangeDescriptor>> maps = new ArrayDeque<>();

  private final Map<String, Integer> last = new HashMap<>();

  ModelRanges() {
    var first = new Leader(new RangeDescriptor(RangeId.firstOf(RetainReplica.KIND).uuid(), RetainReplica.KIND, KeyInterval.all(), 1, List.of(NODE), null));
    leaders.put(first.now.id(), first);
    maps.add(descriptors());
  }

  /** @param number says when it was made, and is its payload too */
  static Publication message(String topic, int number) {
    return publication(topic, number, String.valueOf(number));
  }

  /** A message that removes the one before. */
  static Publication removal(String topic, int number) {
    return publication(topic, number, "");
  }

  private static Publication publication(String topic, int number, String payload) {
    return Publication.of(new Publisher("t", "client"), topic, QoS.AT_LEAST_ONCE, true, number, payload.getBytes(StandardCharsets.UTF_8));
  }

  static int number(Publication message) {
    return (int) message.acceptedAtMillis();
  }

  List<RangeDescriptor> descriptors() {
    return leaders.values().stream().map(leader -> leader.now).toList();
  }

  /** Puts the split of a range that can be split at a topic's key into its log. */
  void split(byte[] cut) {
    var leader = leaders.values().stream().filter(each -> each.now.keys().contains(cut)).findFirst().orElseThrow();
    leader.log.add(
        () -> {
          var before = leader.now;
          if (!before.keys().splitsAt(cut)) return;
          var child = RangeId.numbered(RetainReplica.KIND, leaders.size());
          leader.now = before.lower(cut);
          leaders.put(child.uuid(), new Leader(before.upper(cut, child.uuid(), new RangeDescriptor.Origin(before.id(), 1, 1))));
          maps.add(descriptors());
        });
  }

  /** Applies the next entry of some log; false when all are applied. */
  boolean apply(Random random) {
    var some = leaders.values().stream().filter(leader -> !leader.log.isEmpty()).toList();
    if (some.isEmpty()) return false;
    some.get(random.nextInt(some.size())).log.remove().run();
    return true;
  }

  private void put(Publication message) {
    byte[] key = TopicKeys.of(message);
    if (message.payloadLength() == 0) rows.remove(key);
    else rows.put(key, message);
    Integer before = last.put(message.topic(), number(message));
    if (before != null && before > number(message)) reversed.add(message.topic() + ": " + number(message) + " after " + before);
  }

  final class Leader implements RetainRangeClient {
    final ArrayDeque<Runnable> log = new ArrayDeque<>();
    RangeDescriptor now;

    Leader(RangeDescriptor now) {
      this.now = now;
    }

    /** In its turn in the log, unless the range has another epoch by then. */
    private <T> CompletableFuture<T> entered(long epoch, Supplier<T> entry) {
      if (epoch != now.epoch()) return CompletableFuture.failedFuture(new WrongEpochException(now, epoch));
      var answer = new CompletableFuture<T>();
      log.add(
          () -> {
            if (epoch == now.epoch()) answer.complete(entry.get());
            else answer.completeExceptionally(new WrongEpochException(now, epoch));
          });
      return answer;
    }

    @Override
    public CompletableFuture<ReasonCode> set(long epoch, Publication message) {
      return entered(
          epoch,
          () -> {
            require(TopicKeys.of(message));
            put(message);
            return ReasonCode.SUCCESS;
          });
    }

    @Override
    public CompletableFuture<Optional<ReasonCode>> add(long epoch, Publication message) {
      return entered(
          epoch,
          () -> {
            require(TopicKeys.of(message));
            if (rows.containsKey(TopicKeys.of(message))) return Optional.<ReasonCode>empty();
            put(message);
            return Optional.of(ReasonCode.SUCCESS);
          });
    }

    private void require(byte[] key) {
      if (!now.keys().contains(key)) throw new AssertionError("a key of another range");
    }

    @Override
    public CompletableFuture<Page> find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
      return entered(
          epoch,
          () -> {
            byte[] from = TopicKeys.first(tenant, filter, after);
            require(from);
            var wanted = TopicFilter.plain(filter);
            var found = new ArrayList<Publication>();
            for (var each : rows.tailMap(from, true).entrySet()) {
              if (!now.keys().contains(each.getKey())) break;
              if (found.size() == messagesMax) return new Page(found, new Cursor(each.getKey()));
              if (wanted.matches(each.getValue().topic())) found.add(each.getValue());
            }
            byte[] end = now.keys().end();
            return new Page(found, end == null ? null : new Cursor(end));
          });
    }

    @Override
    public CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
      return entered(
          epoch,
          () -> {
            require(from);
            var own = rows.tailMap(from, true).entrySet().stream().filter(each -> now.keys().contains(each.getKey())).limit(max).toList();
            var listed = own.stream().map(each -> new Row(each.getKey(), each.getValue().payloadLength())).toList();
            return new Listing(listed, listed.size() < max ? now.keys().end() : Arrays.copyOf(listed.getLast().key(), listed.getLast().key().length + 1));
          });
    }

    @Override
    public CompletableFuture<Sums> sums() {
      long own = rows.keySet().stream().filter(now.keys()::contains).count();
      return CompletableFuture.completedFuture(new Sums(own, 10 * own, 100 * own));
    }

    @Override
    public CompletableFuture<List<Held>> held(List<String> tenants) {
      return sums().thenApply(sums -> tenants.stream().map(_ -> new Held(sums.messages(), sums.bytes())).toList());
    }
  }
}
