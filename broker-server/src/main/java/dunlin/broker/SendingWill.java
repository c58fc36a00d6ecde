package dunlin.broker;

import dunlin.broker.access.Access;
import dunlin.broker.access.Grant;
import dunlin.broker.access.Subject;
import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.AuthenticationCall;
import dunlin.broker.auth.Authorization;
import dunlin.broker.loop.Loop;
import dunlin.broker.meter.Denials;
import dunlin.inbox.WillPublisher.Outcome;
import dunlin.inbox.WillPublisher.Rest;
import dunlin.inbox.WillPublisher.Sending;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.TierAnswers;
import io.netty.channel.local.LocalAddress;
import java.net.SocketAddress;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The publishing of one will of a session whose connection has ended: to the retained messages, and to subscribers.
 */
final class SendingWill implements Sending {
  /*
   * Owner: the loop that its publisher hashes to; answers arrive on any thread and are posted to it.
   * Bounds: one for each will that the session tier is publishing. Until it is accepted or refused, it counts as a
   * publish in flight.
   * Without another attempt it is returned to the session tier, which has the will, and a Rest goes on where this has ended.
   * Failure: the two parts are repeated separately, until each is accepted or refused by a rule. Durable subscribers
   * are served before the others: if their store does not accept the will now, no subscriber has received it, so a
   * further attempt of the same leader never delivers the will twice to connected sessions. In a cluster, a will to be retained goes to
   * subscribers only once it is retained, or cannot be: see RetainLine. There each attempt says that it is one of this will, so that its range, other ranges and
   * frontends recognise those of other leaders; it becomes the retained message with each.
   * Access rules are asked before each attempt, with the user whose session has left the will, and behind them what the
   * rules of the client's token have said of it at CONNECT. A will that they deny is refused, and so is one for which
   * there is no answer.
   */
  private static final SocketAddress NO_ADDRESS = new LocalAddress("wills");

  private final Loop loop;
  private final Publication will;
  private final String user;
  private final boolean underRules;
  private final Authentication authentication;

  /** Of the next attempt. */
  private Terms terms;

  /** The outcome of each part that needs no further attempt; else null. */
  private @Nullable Outcome retained;

  private @Nullable Outcome subscribers;
  private boolean counted;

  /**
   * @param left the will as its client has left it
   * @param again whether it may have been sent before
   */
  SendingWill(Loop loop, Publication left, long nowMillis, String user, boolean again, Authentication authentication) {
    this(loop, left, nowMillis, user, again, authentication, left.retain() ? null : new Outcome.Published(), null);
  }

  private SendingWill(
      Loop loop, Publication left, long acceptedMillis, String user, boolean again, Authentication authentication, @Nullable Outcome retained,
      @Nullable Outcome subscribers) {
    this.loop = loop;
    this.will = left.acceptedAt(acceptedMillis);
    this.retained = retained;
    this.subscribers = subscribers;
    this.underRules = left.isUnderRules();
    this.user = user;
    this.authentication = authentication;
    var exchange = will.exchange();
    terms = exchange == null ? Terms.WILL : Terms.WILL.from(Terms.Origin.ofWill(exchange.epoch(), again));
  }

  @Override
  public CompletableFuture<Outcome> attempt() {
    var attempt = new Attempt();
    loop.post(attempt::begin);
    return attempt.ended;
  }

  @Override
  public Optional<Rest> giveBack() {
    loop.post(
        () -> {
          if (!counted) return;
          counted = false;
          loop.counts().publishes().waiting(-1);
          loop.counts().publishes().returned(will, null);
        });
    if (!will.retain() || (retained == null && subscribers == null)) return Optional.empty();
    return Optional.of(rest(loop, will.acceptedAtMillis(), user, authentication, retained, subscribers));
  }

  /** Without the message. */
  private static Rest rest(
      Loop loop, long acceptedMillis, String user, Authentication authentication, @Nullable Outcome retained, @Nullable Outcome subscribers) {
    return will -> new SendingWill(loop, will, acceptedMillis, user, true, authentication, retained, subscribers);
  }

  /** The common outcome of both parts, if neither has to be repeated. */
  private static Outcome worse(Outcome one, Outcome other) {
    return one instanceof Outcome.Published ? other : one;
  }

  /** One attempt: the parts that have no outcome yet. */
  private final class Attempt {
    private final CompletableFuture<Outcome> ended = new CompletableFuture<>();
    private @Nullable Outcome notNow;
    private int left = 1;

    private void begin() {
      if (!counted) {
        counted = true;
        loop.counts().publishes().received(will, null);
        loop.counts().publishes().waiting(1);
      }
      Authorization authorization = authentication.authorization();
      if (authorization == null) publish();
      else check(authorization);
    }

    private void check(Authorization authorization) {
      Subject client = Authorization.absent(will.publisher().tenant(), will.publisher().clientId(), user);
      Consumer<Grant> granted =
          grant -> {
            if (authorization.verdicts().allows(grant.policy(), Access.publish(will.topic(), will.qos(), will.retain()))) publish();
            else deny();
          };
      authorization.ofWill(client, underRules).ifPresentOrElse(granted, () -> ask(authorization, client, granted));
    }

    private void ask(Authorization authorization, Subject client, Consumer<Grant> granted) {
      new AuthenticationCall<>(
              authentication,
              loop,
              NO_ADDRESS,
              false,
              () -> authorization.ask(client, Optional.empty()),
              answer -> {
                switch (answer) {
                  case AuthenticationCall.Answer.Given<Grant>(var grant) -> granted.accept(grant);
                  case AuthenticationCall.Answer.Missing<Grant>(var why) -> {
                    if (why == Authentication.Result.OVERLOADED) ended.complete(new Outcome.NotNow(ReasonCode.SERVER_BUSY));
                    else deny();
                  }
                }
              })
          .start();
    }

    private void deny() {
      loop.meters().denials().denied(Denials.Kind.WILL, will.publisher().clientId(), user, will.topic());
      loop.counts().publishAnswered(ReasonCode.NOT_AUTHORIZED, will, null);
      ended.complete(new Outcome.Refused(ReasonCode.NOT_AUTHORIZED));
    }

    private void publish() {
      if (retained == null) {
        left++;
        loop.retain(will, null, reason -> loop.post(() -> retained(Outcome.of(reason))));
      }
      if (retained != null || loop.tiers().alone()) send();
      oneDone();
    }

    private void send() {
      if (subscribers != null) return;
      left++;
      var answer = new Answer(terms, reason -> loop.post(() -> subscribers(Outcome.of(reason))));
      var origin = terms.origin();
      if (origin != null) terms = terms.from(origin.asRepetition());
      loop.handOn(will, null, null, answer);
      answer.answer(ReasonCode.SUCCESS);
    }

    private void retained(Outcome outcome) {
      if (outcome instanceof Outcome.NotNow) {
        notNow = outcome;
      } else {
        retained = outcome;
        if (!loop.tiers().alone()) send();
      }
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
        loop.counts().publishAnswered(outcome instanceof Outcome.Refused(ReasonCode reason) ? reason : ReasonCode.SUCCESS, will, null);
        ended.complete(said(outcome));
      }
    }

    private Outcome said(Outcome outcome) {
      return outcome instanceof Outcome.Refused(ReasonCode reason) ? new Outcome.Refused(TierAnswers.forPublisher(reason)) : outcome;
    }
  }

  /** Reports that all subscribers have answered. */
  private static final class Answer extends Acknowledgement {
    private final Terms terms;
    private final Consumer<ReasonCode> told;

    Answer(Terms terms, Consumer<ReasonCode> told) {
      this.terms = terms;
      this.told = told;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode reason) {
      told.accept(reason);
    }
  }
}
