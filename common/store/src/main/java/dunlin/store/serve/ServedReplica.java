package dunlin.store.serve;

import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Serves a replica of this node to callers on other nodes: decodes commands and encodes results.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public final class ServedReplica<C, R> implements LocalRange {
  private final Replica<C, R> replica;
  private final CommandCodec<C> commands;
  private final ResultCodec<R> results;
  private final Supplier<RangeLocation> location;

  /**
   * @param location the known location of the range; called for every request, so it must answer from memory
   */
  public ServedReplica(
      Replica<C, R> replica, CommandCodec<C> commands, ResultCodec<R> results, Supplier<RangeLocation> location) {
    this.replica = replica;
    this.commands = commands;
    this.results = results;
    this.location = location;
  }

  @Override
  public RangeLocation location() {
    return location.get();
  }

  @Override
  public void propose(long epoch, ByteBuffer command, Consumer<RangeReply> reply) {
    var known = location.get();
    if (known.epoch() != epoch) {
      reply.accept(new RangeReply.WrongEpoch(known));
      return;
    }
    C decoded;
    try {
      decoded = commands.decode(command);
    } catch (RuntimeException e) { // perhaps of a newer version, which another node may know
      reply.accept(new RangeReply.Unavailable("a command that cannot be read: " + e.getMessage()));
      return;
    }
    var completion =
        new Completion<R>() {
          @Override
          public void done(R result) {
            reply.accept(new RangeReply.Done(results.encode(result)));
          }

          @Override
          public void failed(StoreException failure) {
            reply.accept(replyFor(failure));
          }
        };
    // A range with an epoch in its rows checks it when it applies the command.
    boolean taken =
        replica.descriptor().isPresent() ? replica.propose(epoch, decoded, completion) : replica.propose(decoded, completion);
    if (!taken) reply.accept(new RangeReply.Overloaded());
  }

  @Override
  public void barrier(long epoch, Consumer<RangeReply> reply) {
    var known = location.get();
    if (known.epoch() != epoch) {
      reply.accept(new RangeReply.WrongEpoch(known));
      return;
    }
    var _ = replica.readBarrier().whenComplete((_, e) -> reply.accept(e == null ? new RangeReply.Done(new byte[0]) : barrierFailed(e)));
  }

  private RangeReply barrierFailed(Throwable thrown) {
    @Nullable Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
    return cause instanceof StoreException failure ? replyFor(failure) : new RangeReply.Unavailable("a barrier has failed: " + cause);
  }

  private RangeReply replyFor(StoreException failure) {
    return switch (failure) {
      case NotLeaderException refused -> new RangeReply.NotLeader(refused.leader().orElse(null));
      case WrongEpochException _ -> new RangeReply.WrongEpoch(location.get());
      case OutcomeUnknownException unknown -> new RangeReply.Unknown(text(unknown));
      default -> new RangeReply.Unavailable(text(failure));
    };
  }

  private static String text(StoreException failure) {
    return String.valueOf(failure.getMessage());
  }
}
