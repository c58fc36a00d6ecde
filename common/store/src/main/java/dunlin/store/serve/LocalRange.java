package dunlin.store.serve;

import dunlin.store.CommandCodec;
import java.nio.ByteBuffer;
import java.util.function.Consumer;

/**
 * This node's replica of one range, as the store service uses it.
 *
 * <p>Nothing here blocks: it is called on event loops. The reply consumer is called once, on any thread, possibly from
 * inside the call.
 */
public interface LocalRange {
  /** The range's location, as this replica knows it. */
  RangeLocation location();

  /**
   * Proposes a command if this replica leads and the range has the caller's epoch. Commands of one thread are applied
   * in the order of its calls. When one is refused, none that was proposed after it and before the refusal was reported
   * is applied either: a leader that steps down refuses all queued commands.
   *
   * @param epoch the epoch of the caller's location
   * @param command as its {@link CommandCodec} has written it, from position to limit; the bytes are never changed
   */
  void propose(long epoch, ByteBuffer command, Consumer<RangeReply> reply);

  /**
   * Replies Done, with an empty result, once this replica has applied all commands that were reported as done on any
   * node before the call.
   */
  void barrier(long epoch, Consumer<RangeReply> reply);
}
