package dunlin.store.serve;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * How a request to a range on another node ended. All but {@link Done} and {@link Unknown} say for certain that nothing
 * was done, so the same request may be sent again.
 */
public sealed interface RangeReply {
  /** The command is durable on a majority and applied. */
  record Done(byte[] result) implements RangeReply {}

  /** Another replica leads; names it, if known. */
  record NotLeader(@Nullable UUID leader) implements RangeReply {}

  /** The range's epoch is not the caller's; has the current location. */
  record WrongEpoch(RangeLocation now) implements RangeReply {}

  /** A bounded queue is full. */
  record Overloaded() implements RangeReply {}

  /** There is no such range here, or it accepts no commands now. */
  record Unavailable(String reason) implements RangeReply {}

  /** The deadline passed before anything was done. */
  record Expired() implements RangeReply {}

  /** The command may have been committed, or may still be. */
  record Unknown(String reason) implements RangeReply {}
}
