package dunlin.broker;

import dunlin.broker.loop.Loop;
import dunlin.inbox.WillPublisher.Outcome;
import dunlin.inbox.WillPublisher.Sending;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A will on its way, published for a session whose connection is gone: to the retained messages, and to subscribers. */
final class SendingWill implements Sending {
  /*
   * Owner: the loop that its publisher hashes to; the answers come from any thread and are posted to it.
   * Bounds: one for each will that the session tier has on its way. Until it is taken or refused it counts as a publish in flight.
   * Failure: the two parts are tried again each by itself, until it is taken or refused by a rule. Durable subscribers come before the others: what
   *   their store does not take now has reached no subscriber, and so an attempt never brings the will twice to those who are connected.
   */
  private final Loop loop;
  private final Publication will;

  /** How each part ended that needs no other attempt; else null. */
  private @Nullable Outcome retained;

  private @Nullable Outcome subscribers;
  private boolean counted;

  SendingWill(Loop loop, Publication will) {
    this.loop = loop;
    this.will = will;
    if (!will.retain()) retained = new Outcome.Published();
  }

  @Override
  public CompletableFuture<Outcome> attempt() {
    var attempt = new Attempt();
    loop.post(attempt::begin);
    return attempt.ended;
  }

  /** What both parts together answer, where none of them has to be tried again. */
  private static Outcome worse(Outcome one, Outcome other) {
    return one instanceof Outcome.Published ? other : one;
  }

  /** Both parts, as far as they are still to be done. */
  private final class Attempt {
    private final CompletableFuture<Outcome> ended = new CompletableFuture<>();
    private @Nullable Outcome notNow;
    private int left = 1;

    private void begin() {
      if (!counted) {
        counted = true;
        loop.counts().publishes().received();
        loop.counts().publishes().waiting(1);
      }
      if (retained == null) {
        left++;
        loop.tiers().retain().set(will, reason -> loop.post(() -> retained(Outcome.of(reason))));
      }
      if (subscribers == null) {
        left++;
        var answer = new Answer(reason -> loop.post(() -> subscribers(Outcome.of(reason))));
        loop.lane().append(will, null, answer);
        answer.answer(ReasonCode.SUCCESS);
      }
      oneDone();
    }

    private void retained(Outcome outcome) {
      if (outcome instanceof Outcome.NotNow) notNow = outcome;
      else retained = outcome;
      oneDone();
    }

    private void subscribers(Outcome outcome) {
      if (outcome instanceof Outcome.NotNow) notNow = outcome;
      else subscribers = outcome;
      oneDone();
    }

    private void oneDone() {
      if (--left > 0) return;
      if (notNow != null || retained == null || subscribers == null) {
        ended.complete(notNow == null ? new Outcome.NotNow(ReasonCode.UNSPECIFIED_ERROR) : notNow);
      } else {
        var outcome = worse(retained, subscribers);
        loop.counts().publishAnswered(outcome instanceof Outcome.Refused(ReasonCode reason) ? reason : ReasonCode.SUCCESS);
        ended.complete(outcome);
      }
    }
  }

  /** Tells when all subscribers have answered. */
  private static final class Answer extends Acknowledgement {
    private final Consumer<ReasonCode> told;

    Answer(Consumer<ReasonCode> told) {
      this.told = told;
    }

    @Override
    public Terms terms() {
      return Terms.WILL;
    }

    @Override
    protected void complete(ReasonCode reason) {
      told.accept(reason);
    }
  }
}
