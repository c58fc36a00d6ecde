package dunlin.dist;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A message that waits until its QoS 2 exchange, or that it is sent as a will, is recorded; or until it is stored if {@linkplain Terms#storesFirst that must come first}. It is the
 * recorder's acknowledgement.
 */
final class RecordedDelivery extends Acknowledgement implements Runnable {
  /*
   * A publisher that was taken over resends, on its new connection, what was not acknowledged on the old one. If the
   * session tier then refuses the old connection's message, because the session has a new owner, subscribers that got
   * it without asking the session tier would get it twice. So the session tier's log decides: a recorded message is
   * delivered by the connection that it came from; a refused one by the connection that it is resent on.
   *
   * The recorder knows a repetition again, and says where the message went before: the lane that sends it again may not know it,
   * and a client's next connection may have learned of the exchange too early. What is delivered everywhere goes nowhere.
   *
   * When the process ends in between, the message is not lost: durable sessions have it from the entry that recorded
   * the exchange, and the sessions that it waits for here end with the process.
   *
   * A will may be stored by several destinations. One whose sending is not recorded comes to them at the same time, and goes on when all have stored it, or a limit has
   * refused it at some. A recorded one comes to its home first, and then to all others. In both cases it is refused because of a limit only if nothing else has failed: its sender tries no more
   * then.
   *
   * Owner: the lane's thread keeps the routes and delivers; the recorder's answer comes on any thread, in the order of
   * the recorder's messages.
   * Bounds: a waiting message is not acknowledged, and so holds credit of its lane.
   * Failure: an exchange that is not recorded is not delivered, and the publisher gets the reason. One that is recorded when an earlier one has not reached a destination, so that both come
   * again, is left to its repetition, or it would overtake that one. A will that a limit keeps from a durable session is
   * recorded, and delivered to the others.
   */
  private final Publication message;
  private final Terms terms;
  private final @Nullable Feedback feedback;
  private final Acknowledgement acknowledgement;
  private final Executor thread;
  private final DeliveryThreads.OfLane threads;
  private final List<Copy> held = new ArrayList<>(1);

  /** What the record knows of picks for groups. Written before the recorder's answer. */
  private final List<Long> known = new ArrayList<>(0);

  /** Written before the lane's thread is asked to deliver. */
  private ReasonCode recorded = ReasonCode.SUCCESS;

  /** Whether a limit has refused one of several copies. Written before the answer to that one. */
  private volatile boolean limited;

  /** Delivers the message to some of its subscribers. */
  @FunctionalInterface
  interface Copy {
    /** @param acknowledgement expects one answer for this */
    void deliver(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement);

    /**
     * The record knows where a message for a group went; called before the message is delivered.
     *
     * @param picks for all groups of the message, the last one last
     */
    default void learn(List<Long> picks, Acknowledgement acknowledgement) {}
  }

  /**
   * @param terms for the recorder: with what was picked for groups, which a repetition by the client's next connection needs
   * @param acknowledgement expects one answer from this object, beside those of the destinations
   */
  RecordedDelivery(
      Publication message, Terms terms, @Nullable Feedback feedback, Acknowledgement acknowledgement, Executor thread, DeliveryThreads.OfLane threads) {
    this.message = message;
    this.terms = terms;
    this.feedback = feedback;
    this.acknowledgement = acknowledgement;
    this.thread = thread;
    this.threads = threads;
  }

  void hold(Copy copy) {
    held.add(copy);
  }

  @Override
  public Terms terms() {
    return terms;
  }

  @Override
  public boolean comesAgain() {
    return !terms.storesFirst() && acknowledgement.comesAgain();
  }

  @Override
  public void willFail(ReasonCode reason) {
    if (!terms.storesFirst()) acknowledgement.willFail(reason);
  }

  @Override
  public void picked(long shard) {
    known.add(shard);
  }

  /** The acknowledgement of one of several destinations that store the message at the same time. */
  Acknowledgement store() {
    return oneOf(this);
  }

  /** The acknowledgement of one of several copies, which answers that of all. Of a will, a limit is noted only, so that it does not hide that another copy has failed. */
  private Acknowledgement oneOf(Acknowledgement all) {
    if (!terms.storesFirst()) return all;
    return new Acknowledgement() {
      @Override
      public Terms terms() {
        return all.terms();
      }

      @Override
      public boolean comesAgain() {
        return acknowledgement.comesAgain();
      }

      @Override
      public void picked(long shard) {
        acknowledgement.picked(shard);
      }

      @Override
      protected void complete(ReasonCode reason) {
        if (matched()) acknowledgement.markMatched();
        if (reason == ReasonCode.QUOTA_EXCEEDED) limited = true;
        all.answer(reason == ReasonCode.QUOTA_EXCEEDED ? ReasonCode.SUCCESS : reason);
      }
    };
  }

  /** The acknowledgement of all copies of a will that were held. */
  private Acknowledgement ofHeld() {
    return new Acknowledgement() {
      @Override
      public Terms terms() {
        return acknowledgement.terms();
      }

      @Override
      protected void complete(ReasonCode reason) {
        acknowledgement.answer(orLimited(reason));
      }
    };
  }

  private ReasonCode orLimited(ReasonCode reason) {
    return limited && !reason.isError() ? ReasonCode.QUOTA_EXCEEDED : reason;
  }

  /** The acknowledgement of a message that is recorded. It never says that nothing is stored, because then the exchange would not be released. */
  static Acknowledgement ofRecorded(Acknowledgement of) {
    return new Acknowledgement() {
      @Override
      public Terms terms() {
        return of.terms();
      }

      @Override
      public boolean comesAgain() {
        return of.comesAgain();
      }

      @Override
      public void willFail(ReasonCode reason) {
        of.willFail(reason);
      }

      @Override
      protected void complete(ReasonCode reason) {
        of.answer(reason == ReasonCode.SERVER_BUSY ? ReasonCode.UNSPECIFIED_ERROR : reason);
      }
    };
  }

  @Override
  protected void complete(ReasonCode reason) {
    recorded = orLimited(reason);
    boolean bounded = terms.storesFirst() && recorded == ReasonCode.QUOTA_EXCEEDED;
    if ((recorded.isError() && !bounded) || held.isEmpty()) acknowledgement.answer(recorded);
    else thread.execute(this);
  }

  @Override
  public void run() {
    if (comesAgain()) {
      acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE); // not USE_ANOTHER_SERVER, which says that it is not recorded
      return;
    }
    var all = terms.storesFirst() ? ofHeld() : acknowledgement;
    if (!known.contains(Terms.Pick.DELIVERED)) {
      threads.copies(held.size());
      for (Copy each : held) {
        all.expect();
        var one = oneOf(all);
        if (!known.isEmpty()) each.learn(known, one);
        each.deliver(message, feedback, one);
      }
    }
    oneOf(all).answer(recorded);
  }
}
