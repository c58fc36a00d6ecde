package dunlin.inbox.propose;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.runtime.Failures;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import dunlin.store.serve.ProposalLine;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Proposes commands to the session range. The effects of a command are performed before its caller is answered. */
public final class Proposals {
  /*
   * Owner: any thread proposes, none blocks. Effects are performed on the range's applying thread, and so in log order.
   * Bounds: the range's queue. Commands that it refuses wait: messages, which hold credit of their lanes, in a line for each tenant, and all other
   * commands, whose number per connection the frontend bounds, in one line. Each line is first in, first out. Commands proposed
   * by now() do not wait. What a client can make large and does not free anything, a CONNECT with its will and a SUBSCRIBE, is bounded in bytes as well;
   * UnansweredCalls bounds the objects of SUBSCRIBEs.
   * Failure: a full line refuses. When the range fails, loses its leadership or runs out of disk, waiting commands
   * fail.
   */
  /** More than the credit of all lanes by default, so that publishers are stopped before this line is full. */
  private static final int MESSAGES_WAITING_MAX = 1 << 20;

  private static final int CALLS_WAITING_MAX = 1 << 16;

  /** As much as the range's queue takes by default, and as the calls of one frontend in another process may have. */
  private static final long CALLS_WAITING_BYTES_MAX = 32 << 20;

  private static final SessionCommandCodec CODEC = new SessionCommandCodec();

  private final Range<SessionCommand, SessionResult> range;
  private final RefusedConnections refused;
  private final ProposalLine<SessionCommand, SessionResult> messages;
  private final ProposalLine<SessionCommand, SessionResult> calls;
  private final InboxSettings settings;
  private final Consumer<Effects> perform;

  /**
   * @param refused the refused connections, shared by all ranges of the node
   * @param perform performs the effects of a command
   */
  public Proposals(
      Range<SessionCommand, SessionResult> range, RefusedConnections refused, InboxSettings settings, Consumer<Effects> perform) {
    this.range = range;
    this.refused = refused;
    this.settings = settings;
    this.perform = perform;
    messages =
        new ProposalLine<>(
            new FencedProposer(range, refused), range::whenRoom, command -> Objects.requireNonNullElse(SessionCommandCodec.tenantOf(command), ""), MESSAGES_WAITING_MAX);
    calls = new ProposalLine<>(range, CALLS_WAITING_MAX, new ProposalLine.Bytes<>(Proposals::bytesOf, CALLS_WAITING_BYTES_MAX));
  }

  /** What a call counts while it waits; 0 for one that frees something, or that is never large. */
  static int bytesOf(SessionCommand command) {
    return switch (command) {
      case SessionCommand.Connect _, SessionCommand.Subscribe _ -> CODEC.encodedLength(command);
      case SessionCommand.Beside beside -> bytesOf(beside.command());
      default -> 0;
    };
  }

  /** The line of messages that wait until the range has room. */
  public ProposalLine<SessionCommand, SessionResult> messages() {
    return messages;
  }

  /** The line of all other commands that wait until then. */
  public ProposalLine<SessionCommand, SessionResult> calls() {
    return calls;
  }

  /** Proposes a command when its turn comes. Answers false if the line is full; then neither callback is called. */
  public boolean inLine(SessionCommand command, Consumer<SessionResult> done, Consumer<StoreException> failed) {
    // The range reserves a part of its queue for commands other than messages; a waiting message must not delay those.
    var line = SessionCommandCodec.isMessage(command) ? messages : calls;
    return line.propose(command, completion(done, failed));
  }

  /**
   * Proposes a command ahead of all waiting ones. Answers false if the range's queue is full; then neither callback is
   * called.
   */
  public boolean now(SessionCommand command, Consumer<Effects> done, Runnable failed) {
    return range.propose(command, completion(result -> done.accept(result.effects()), _ -> failed.run()));
  }

  private Completion<SessionResult> completion(Consumer<SessionResult> done, Consumer<StoreException> failed) {
    return new Completion<>() {
      @Override
      public void done(SessionResult result) {
        perform.accept(result.effects());
        done.accept(result);
      }

      @Override
      public void failed(StoreException failure) {
        failed.accept(failure);
      }
    };
  }

  /** Refuses all further messages of the connection with this fence. */
  public void refuse(long fence) {
    refused.add(fence, new RefusedConnections.Reason(null));
  }

  /** Lets all further messages of the connection with this fence fail as one has failed that comes again, with them behind it. */
  public void leaveOpen(long fence, StoreException failure) {
    refused.add(fence, new RefusedConnections.Reason(failure));
  }

  /** Proposes a command whose only answer is that it was done. */
  public CompletableFuture<Void> run(SessionRef session, SessionCommand command) {
    var done = new CompletableFuture<Void>();
    call(session, command, done, (_, _) -> done.complete(null));
    return done;
  }

  /** Proposes a command of a session's owner. The answer fails if the session has another owner by now. */
  public void call(SessionRef session, SessionCommand command, CompletableFuture<?> answer, BiConsumer<Outcome, Effects> done) {
    call(
        command,
        answer,
        (outcome, effects) -> {
          switch (outcome) {
            case Outcome.Stale _ -> answer.completeExceptionally(new StaleSessionException(session));
            case Outcome.Full _ ->
                answer.completeExceptionally(
                    new QuotaExceededException(
                        QuotaExceededException.Kind.SUBSCRIPTIONS, "subscriptions of " + session.clientId(), settings.subscriptionsMax()));
            case Outcome.AllFull _ ->
                answer.completeExceptionally(
                    new QuotaExceededException(
                        QuotaExceededException.Kind.MEMORY, "bytes of sessions", settings.sums().memory()));
            case Outcome.Done _, Outcome.Fenced _, Outcome.Repeated _, Outcome.Connected _, Outcome.Existed _, Outcome.OtherUser _,
                Outcome.Appended _, Outcome.Imported _, Outcome.Picked _ ->
                done.accept(outcome, effects);
          }
        });
  }

  /** Proposes a command with an answer; the answer fails if the command does. */
  public void call(SessionCommand command, CompletableFuture<?> answer, BiConsumer<Outcome, Effects> done) {
    boolean queued = inLine(command, result -> done.accept(result.outcome(), result.effects()), answer::completeExceptionally);
    if (!queued) answer.completeExceptionally(tooMany());
  }

  /** Proposes a command whose outcome, whatever it is, is the answer. */
  public CompletableFuture<Outcome> outcome(SessionCommand command) {
    var answer = new CompletableFuture<Outcome>();
    call(command, answer, (outcome, _) -> answer.complete(outcome));
    return answer;
  }

  public static StoreException tooMany() {
    return new StoreException("too many commands wait for the session range");
  }

  public static IllegalStateException unexpected(Outcome outcome) {
    return new IllegalStateException("the session range answered " + outcome);
  }

  /** Completes when all futures have, or fails as one of them did. */
  public static CompletableFuture<Void> all(List<? extends CompletableFuture<?>> each) {
    var all = new CompletableFuture<Void>();
    var _ =
        CompletableFuture.allOf(each.toArray(CompletableFuture[]::new)).whenComplete(
            (_, failure) -> {
              if (failure == null) all.complete(null);
              else all.completeExceptionally(Failures.unwrapped(failure));
            });
    return all;
  }

  /** Runs an action when the first future has completed. If the first fails, so does the second. */
  public static void follow(CompletableFuture<?> first, CompletableFuture<?> then, Runnable complete) {
    var _ =
        first.whenComplete(
            (_, failure) -> {
              if (failure == null) complete.run();
              else then.completeExceptionally(failure);
            });
  }
}
