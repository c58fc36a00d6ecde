package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The retain tier as frontends use it. */
public interface RetainClient {
  /**
   * Keeps the message as its topic's retained message; one with an empty payload removes what was kept [MQTT-3.3.1-5, -6,
   * -7]. The last one in log order wins. Calls of one thread for a topic take effect in their order; those for several topics may not, for these may
   * stand in different ranges. Never blocks.
   *
   * @param answer told once, on any thread: {@link ReasonCode#SUCCESS} when it is durable, otherwise why not
   */
  void set(Publication message, Consumer<ReasonCode> answer);

  /**
   * One page of the retained messages whose topics match a filter, in the store's topic order. Expired messages are left
   * out. A page has what was handed to {@link #set} before it was asked for.
   * It may be empty and yet have a cursor, and ends where a range does. Fails with a {@code StoreException}.
   *
   * @param filter a plain topic filter
   * @param after the cursor of the page before, or null for the first page
   * @param messagesMax at most so many messages, at least 1
   * @param bytesMax ends the page once its messages have more bytes than this; there is always room for one message
   */
  CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax);

  /** How many topics have a retained message. */
  CompletableFuture<Long> count();

  /** Where a page ended. Opaque; holds nothing in the store, so it may simply be forgotten. */
  record Cursor(byte[] key) {}

  /**
   * @param next where to go on, or null when this was the last page
   */
  record Page(List<Publication> messages, @Nullable Cursor next) {}
}
