package dunlin.store.serve;

import dunlin.store.CommandCodec;
import java.nio.ByteBuffer;
import java.util.function.Consumer;

/**
 * This node's replica of one range, as the store service uses it for callers on other nodes.
 *
 * <p>Nothing here blocks: it is called on event loops. Each reply is given once, on any thread, also from inside the call.
 */
public interface LocalRange {
  /** Where the range is, as this replica knows it. */
  RangeLocation location();

  /**
   * Puts a command into the log when this replica leads and the range is still as the caller thinks it is. Commands of one
   * thread are applied in the order of its calls. Once one of them was refused, none that was proposed after it and before
   * its refusal was told is applied either: a leader that steps down refuses all that waits.
   *
   * @param epoch the epoch of the location by which the caller came here
   * @param command as its {@link CommandCodec} has written it, from position to limit; the bytes are never changed
   */
  void propose(long epoch, ByteBuffer command, Consumer<RangeReply> reply);

  /** Done, with an empty result, once this replica has applied all that any node was told to be done before the call. */
  void barrier(long epoch, Consumer<RangeReply> reply);
}
