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
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import dunlin.store.serve.ProposalLine;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The ways of commands into the session range. What a command leaves to do is done before its caller hears of it. */
public final class Proposals {
  /*
   * Owner: any thread proposes, none blocks. What a command leaves to do runs on the range's applying thread, and so in log order.
   * Bounds: the range's queue. What that refuses waits in two lines, in its order: messages with the credit that their lanes gave them, and
   *   everything else, of which a connection waits for as many as its frontend lets it. What is proposed now() does not wait.
   * Failure: a line that is full refuses; a range that fails, is led elsewhere or has no disk fails what waits.
   */
  /** More than all lanes have credit for by default, so that these are not read from before this is full. */
  private static final int MESSAGES_WAITING_MAX = 1 << 20;

  private static final int CALLS_WAITING_MAX = 1 << 16;

  private final Range<SessionCommand, SessionResult> range;
  private final RefusedConnections refused;
  private final ProposalLine<SessionCommand, SessionResult> messages;
  private final ProposalLine<SessionCommand, SessionResult> calls;
  private final InboxSettings settings;
  private final Consumer<Effects> perform;

  /**
   * @param refused of all ranges of the node
   * @param perform does what a command leaves to do
   */
  public Proposals(
      Range<SessionCommand, SessionResult> range, RefusedConnections refused, InboxSettings settings, Consumer<Effects> perform) {
    this.range = range;
    this.refused = refused;
    this.settings = settings;
    this.perform = perform;
    messages = new ProposalLine<>(new FencedRange(range, refused), MESSAGES_WAITING_MAX);
    calls = new ProposalLine<>(range, CALLS_WAITING_MAX);
  }

  /** The messages that wait until the range has room. */
  public ProposalLine<SessionCommand, SessionResult> messages() {
    return messages;
  }

  /** Everything else that waits until then. */
  public ProposalLine<SessionCommand, SessionResult> calls() {
    return calls;
  }

  /** Proposes a command when its turn comes; false when too many wait, and then neither is called. */
  public boolean inLine(SessionCommand command, Consumer<SessionResult> done, Consumer<StoreException> failed) {
    // A message that waits must not hold up what the range keeps a part of its queue for.
    var line = SessionCommandCodec.isMessage(command) ? messages : calls;
    return line.propose(command, completion(done, failed));
  }

  /** Proposes a command past all that waits; false when the range's queue is full, and then neither is called. */
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

  /** Refuses from here on what the connection with this fence publishes. */
  public void refuse(long fence) {
    refused.add(fence);
  }

  /** Proposes what has no answer but that it was done. */
  public CompletableFuture<Void> run(SessionRef session, SessionCommand command) {
    var done = new CompletableFuture<Void>();
    call(session, command, done, (_, _) -> done.complete(null));
    return done;
  }

  /** Proposes what needs the session, and passes on that it has another owner. */
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
                Outcome.Appended _ ->
                done.accept(outcome, effects);
          }
        });
  }

  /** Proposes what has an answer, which fails when the command does. */
  public void call(SessionCommand command, CompletableFuture<?> answer, BiConsumer<Outcome, Effects> done) {
    boolean queued = inLine(command, result -> done.accept(result.outcome(), result.effects()), answer::completeExceptionally);
    if (!queued) answer.completeExceptionally(tooMany());
  }

  public static StoreException tooMany() {
    return new StoreException("too many commands wait for the session range");
  }

  public static IllegalStateException unexpected(Outcome outcome) {
    return new IllegalStateException("the session range answered " + outcome);
  }

  /** Does something when the first one has completed; when that has failed, so does the other. */
  public static void follow(CompletableFuture<?> first, CompletableFuture<?> then, Runnable complete) {
    var _ =
        first.whenComplete(
            (_, failure) -> {
              if (failure == null) complete.run();
              else then.completeExceptionally(failure);
            });
  }
}
