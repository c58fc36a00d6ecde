package dunlin.store.remote;

import dunlin.store.StoreException;
import dunlin.store.serve.RangeLocation;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** One request to a range, from its proposal to its end, over all attempts. */
final class RemoteCall {
  /*
   * Owner: the client's thread; final fields may be read by any thread.
   * Bounds: counted by its RemoteRange until it ends; ends at its deadline at the latest.
   */

  /** The caller's side of a call. */
  interface Ending {
    boolean belongs(RangeLocation now);

    void done(byte[] result, UUID node);

    void failed(StoreException failure);
  }

  final Frames.Kind kind;
  final RangeRoute route;
  /** The ordered sequence that it is part of; null when it may overtake. */
  final @Nullable Source sequence;
  final byte[] command;
  final boolean idempotent;
  final long startedNanos;
  final long deadlineNanos;
  final Ending ending;

  long order; // place in its sequence
  long epoch = -1; // of the location that it was sent by
  long number; // of the current attempt
  int attempts;
  int hops; // hints followed since the last pause
  boolean unknown; // whether the outcome of an attempt is unknown
  boolean ended;
  String lastRefusal = "it was never sent";
  @Nullable NodeLink link; // where it waits or is in flight
  @Nullable LinkStream stream; // where it is in flight
  @Nullable RemoteCall previous; // links all calls of the client, oldest first
  @Nullable RemoteCall next;

  RemoteCall(
      Frames.Kind kind,
      RangeRoute route,
      @Nullable Source sequence,
      byte[] command,
      boolean idempotent,
      long startedNanos,
      long deadlineNanos,
      Ending ending) {
    this.kind = kind;
    this.route = route;
    this.sequence = sequence;
    this.command = command;
    this.idempotent = idempotent;
    this.startedNanos = startedNanos;
    this.deadlineNanos = deadlineNanos;
    this.ending = ending;
  }

  /** The bytes of the call in a frame. */
  int frameBytes() {
    return Frames.REQUEST_HEADER_BYTES + command.length;
  }

  /** Whether the command may have been applied, or may still be, if the call ended now. */
  boolean maybeDone() {
    return kind == Frames.Kind.COMMAND && (unknown || stream != null);
  }
}
