package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A map of topics as the retain tier, for one tenant. Two other tenants are there to fail. Answers when it is told to. */
final class MapRetain implements RetainClient {
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

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    var reason = ReasonCode.SUCCESS;
    if (message.payloadLength() == 0) messages.remove(message.topic());
    else if (messages.size() < TOPICS_MAX || messages.containsKey(message.topic())) messages.put(message.topic(), message);
    else reason = ReasonCode.QUOTA_EXCEEDED;
    var given = reason;
    answering.accept(() -> answer.accept(given));
  }

  @Override
  public CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    var answer = new CompletableFuture<Page>();
    switch (tenant) {
      case FAILING -> answering.accept(() -> answer.completeExceptionally(new StoreException("too many pages are being read")));
      case UNKNOWN ->
          answering.accept(() -> answer.completeExceptionally(new OutcomeUnknownException("nobody knows", new StoreException("of a test"))));
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
  public CompletableFuture<Long> count() {
    var answer = new CompletableFuture<Long>();
    long count = messages.size();
    answering.accept(() -> answer.complete(count));
    return answer;
  }
}
