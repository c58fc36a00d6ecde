package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The retain tier, as used by frontends. */
public interface RetainClient {
  /**
   * Sets the topic's retained message; one with an empty payload removes it [MQTT-3.3.1-5, -6, -7]. The last one in log
   * order wins. Calls of one thread for a topic take effect in order; calls for different topics may not, since these
   * may be in different ranges. Never blocks.
   *
   * @param answer called once, on any thread: with {@link ReasonCode#SUCCESS} when it is durable, otherwise with the
   *     reason
   */
  void set(Publication message, Consumer<ReasonCode> answer);

  /**
   * Sets the topic's retained message unless it has one that has not expired. Decided in the order of the log, so a message that {@link #set} stores in the same
   * moment is not overwritten. Never blocks.
   *
   * @param message with a payload
   * @param answer called once, on any thread: empty when the topic has a message, which stays; otherwise as of {@link #set}
   */
  void add(Publication message, Consumer<Optional<ReasonCode>> answer);

  /**
   * One page of the retained messages whose topics match a filter, in the store's topic order. Expired messages are
   * left out. A page includes everything passed to {@link #set} before this call. It may be empty and still have a
   * cursor, and does not extend over several ranges. Fails with a {@code StoreException}.
   *
   * @param filter a plain topic filter
   * @param after the cursor of the previous page, or null for the first page
   * @param messagesMax the most messages of the page, at least 1
   * @param bytesMax the page ends once its messages have more bytes than this; it always has room for one message
   */
  CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax);

  /** How many topics have a retained message. */
  CompletableFuture<Long> count();

  /** The end of a page. Opaque; it holds no resources, so it need not be closed. */
  record Cursor(byte[] key) {}

  /**
   * @param next the cursor for the next page, or null when this is the last one
   */
  record Page(List<Publication> messages, @Nullable Cursor next) {}
}
