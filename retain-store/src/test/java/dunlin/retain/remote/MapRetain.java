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
import dunlin.store.KeyInterval;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A map of topics as the only range of retained messages, for one tenant. Two other tenants are there to fail. Answers when the test lets it. */
final class MapRetain implements RetainRangeClient {
  static final long EPOCH = 3;

  static final int TOPICS_MAX = 12;
  private static final String TENANT = "t";
  private static final String FAILING = "failing";
  private static final String UNKNOWN = "unknown";
  static final List<String> TENANTS = List.of(TENANT, TENANT, TENANT, FAILING, UNKNOWN);

  final TreeMap<String, Publication> messages = new TreeMap<>();
  private final Consumer<Runnable> answering;

  /** @param answering runs what gives an answer, now or later */
  MapRetain(Consumer<Runnable> answering) {
    this.answering = answering;
  }

  static Publication message(String topic, String payload) {
    return Publication.of(new Publisher(TENANT, "client"), topic, QoS.AT_LEAST_ONCE, true, 7, payload.getBytes(StandardCharsets.UTF_8));
  }

  /** The range, as a caller knows it that names its epoch. */
  static RangeDescriptor descriptor() {
    return new RangeDescriptor(RangeId.firstOf(RetainReplica.KIND).uuid(), RetainReplica.KIND, KeyInterval.all(), EPOCH, List.of(new UUID(1, 2)), null);
  }

  private static <T> CompletableFuture<T> moved(long epoch) {
    return CompletableFuture.failedFuture(new WrongEpochException(descriptor(), epoch));
  }

  @Override
  public CompletableFuture<ReasonCode> set(long epoch, Publication message) {
    if (epoch != EPOCH) return moved(epoch);
    var reason = ReasonCode.SUCCESS;
    if (message.payloadLength() == 0) messages.remove(message.topic());
    else if (messages.size() < TOPICS_MAX || messages.containsKey(message.topic())) messages.put(message.topic(), message);
    else reason = ReasonCode.QUOTA_EXCEEDED;
    var given = reason;
    var answer = new CompletableFuture<ReasonCode>();
    answering.accept(() -> answer.complete(given));
    return answer;
  }

  @Override
  public CompletableFuture<Optional<ReasonCode>> add(long epoch, Publication message) {
    if (epoch == EPOCH && messages.containsKey(message.topic())) {
      var answer = new CompletableFuture<Optional<ReasonCode>>();
      answering.accept(() -> answer.complete(Optional.empty()));
      return answer;
    }
    return set(epoch, message).thenApply(Optional::of);
  }

  @Override
  public CompletableFuture<Page> find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (epoch != EPOCH) return moved(epoch);
    var answer = new CompletableFuture<Page>();
    switch (tenant) {
      case FAILING -> answering.accept(() -> answer.completeExceptionally(new StoreException("too many pages are being read")));
      case UNKNOWN ->
          answering.accept(() -> answer.completeExceptionally(new OutcomeUnknownException("the answer is not known", new StoreException("of a test"))));
      default -> {
        var page = page(TopicFilter.plain(filter), after == null ? "" : new String(after.key(), StandardCharsets.UTF_8), messagesMax, bytesMax);
        answering.accept(() -> answer.complete(page));
      }
    }
    return answer;
  }

  private Page page(TopicFilter filter, String from, int messagesMax, int bytesMax) {
    List<Publication> found = new ArrayList<>();
    int bytes = 0;
    for (var each : messages.tailMap(from, true).entrySet()) {
      if (found.size() == messagesMax || bytes > bytesMax) return new Page(found, new Cursor(each.getKey().getBytes(StandardCharsets.UTF_8)));
      if (!filter.matches(each.getKey())) continue;
      found.add(each.getValue());
      bytes += each.getValue().body().length;
    }
    return new Page(found, null);
  }

  @Override
  public CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
    if (epoch != EPOCH) return moved(epoch);
    var answer = new CompletableFuture<Listing>();
    var rows = messages.entrySet().stream().map(each -> new Row(each.getKey().getBytes(StandardCharsets.UTF_8), each.getValue().payloadLength())).limit(max).toList();
    answering.accept(() -> answer.complete(new Listing(rows, rows.size() < max ? null : prefix)));
    return answer;
  }

  @Override
  public CompletableFuture<Sums> sums() {
    var answer = new CompletableFuture<Sums>();
    var sums = new Sums(messages.size(), 10L * messages.size(), 1L << 40);
    answering.accept(() -> answer.complete(sums));
    return answer;
  }

  @Override
  public CompletableFuture<List<Held>> held(List<String> tenants) {
    var answer = new CompletableFuture<List<Held>>();
    var held = tenants.stream().map(tenant -> new Held(tenant.length(), 1L << 40)).toList();
    answering.accept(() -> answer.complete(held));
    return answer;
  }
}
