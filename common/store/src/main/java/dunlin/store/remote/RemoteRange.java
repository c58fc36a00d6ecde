package dunlin.store.remote;

import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.serve.RangeLocation;
import dunlin.store.serve.ResultCodec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A range on other nodes; the counterpart of {@link dunlin.store.Range}.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public final class RemoteRange<C, R> {
  /*
   * Owner: any thread proposes; the client's thread does the rest, and calls the completions.
   * Bounds: rangeRequestsMax and rangeBytesMax pending here, nodeRequestsMax at the node. Full: propose() answers false
   * and counts.
   */

  /**
   * What the client must know of a tier's commands.
   *
   * @param <C> a command
   */
  public interface Rules<C> {
    /** Whether the command still belongs to the range, which may have been split. Called on the client's thread. */
    boolean belongs(C command, RangeLocation now);

    /** Whether applying the command twice does no harm: then it is sent again when its outcome is unknown. */
    boolean idempotent(C command);
  }

  private final RangeClient client;
  private final CommandCodec<C> commands;
  private final ResultCodec<R> results;
  private final Rules<C> rules;
  private final RangeRoute route;
  private final @Nullable Source sequence;
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();

  RemoteRange(
      RangeClient client,
      CommandCodec<C> commands,
      ResultCodec<R> results,
      Rules<C> rules,
      RangeRoute route,
      @Nullable Source sequence) {
    this.client = client;
    this.commands = commands;
    this.results = results;
    this.rules = rules;
    this.route = route;
    this.sequence = sequence;
  }

  /** As {@link #propose(Object, Duration, Completion)}, with the timeout of the settings. */
  public boolean propose(C command, Completion<R> completion) {
    return propose(command, client.settings().timeout(), completion);
  }

  /**
   * Sends a command to the range's leader, and retries until the timeout. Never blocks. Unless the failure is an {@link
   * OutcomeUnknownException}, the command was surely not applied.
   *
   * @return false when a bounded queue is full: nothing will be sent, the completion will not be called, and the caller must
   *     push back on its own source
   */
  public boolean propose(C command, Duration timeout, Completion<R> completion) {
    int length = commands.encodedLength(command);
    int most = client.settings().bounds().commandBytesMax();
    if (length > most) {
      completion.failed(tooLarge(length, most));
      return true;
    }
    if (!reserve(length)) return false;
    var encoded = new byte[length];
    try {
      commands.encode(command, ByteBuffer.wrap(encoded));
    } catch (RuntimeException e) {
      release(length);
      throw e;
    }
    var ending = new CommandEnding(command, length, completion);
    client.begin(Frames.Kind.COMMAND, route, sequence, encoded, rules.idempotent(command), timeout, ending);
    return true;
  }

  /**
   * Waits until a replica has applied all commands that were reported as done before the call; the result is its node.
   *
   * @return false as with propose
   */
  public boolean barrier(Duration timeout, Completion<UUID> completion) {
    if (!reserve(0)) return false;
    client.begin(Frames.Kind.BARRIER, route, sequence, new byte[0], true, timeout, new BarrierEnding(completion));
    return true;
  }

  private StoreException tooLarge(int length, int most) {
    return new StoreException(
        "range " + route.range + ": a command of " + length + " bytes exceeds the limit of " + most);
  }

  private boolean reserve(int length) {
    var settings = client.settings();
    var node = route.current();
    boolean nodeFull = node != null && node.full();
    if (!nodeFull && requests.incrementAndGet() <= settings.bounds().rangeRequestsMax()) {
      if (bytes.addAndGet(length) <= settings.bounds().rangeBytesMax()) return true;
      bytes.addAndGet(-length);
    }
    if (!nodeFull) requests.decrementAndGet();
    client.meters().overflow();
    return false;
  }

  private void release(int length) {
    requests.decrementAndGet();
    bytes.addAndGet(-length);
  }

  private final class CommandEnding implements RemoteCall.Ending {
    private final C command;
    private final int length;
    private final Completion<R> completion;

    CommandEnding(C command, int length, Completion<R> completion) {
      this.command = command;
      this.length = length;
      this.completion = completion;
    }

    @Override
    public boolean belongs(RangeLocation now) {
      return rules.belongs(command, now);
    }

    @Override
    public void done(byte[] result, UUID node) {
      release(length);
      R decoded;
      try {
        decoded = results.decode(ByteBuffer.wrap(result));
      } catch (RuntimeException e) {
        String what = "range " + route.range + ": a command is done, and its result of node " + node + " cannot be read";
        completion.failed(new OutcomeUnknownException(what, e));
        return;
      }
      completion.done(decoded);
    }

    @Override
    public void failed(StoreException failure) {
      release(length);
      completion.failed(failure);
    }
  }

  private final class BarrierEnding implements RemoteCall.Ending {
    private final Completion<UUID> completion;

    BarrierEnding(Completion<UUID> completion) {
      this.completion = completion;
    }

    @Override
    public boolean belongs(RangeLocation now) {
      return true;
    }

    @Override
    public void done(byte[] result, UUID node) {
      release(0);
      completion.done(node);
    }

    @Override
    public void failed(StoreException failure) {
      release(0);
      completion.failed(failure);
    }
  }
}
