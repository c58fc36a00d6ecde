package dunlin.broker.session;

import dunlin.broker.loop.Loop;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.trace.Trace.Party;
import java.util.ArrayDeque;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Passes the messages of one publisher to the lane, in their order; a message to be retained only once it is set. */
public final class RetainLine {
  /*
   * The retained message and the copies for subscribers go to different tiers, in a cluster over different links. If both
   * were sent at once, a new subscriber could receive the live message first, and the retained one before it afterwards.
   *
   * Owner: the event loop.
   * Bounds: messages with QoS 1 and 2 hold credit of the lane, which their publisher has taken; with QoS 0 this takes it
   * while they wait. A publisher without credit is not read from.
   * Failure: a message of QoS 1 or 2 that is not set is answered with the reason and goes no further. A message of QoS 0
   * goes to the subscribers all the same, unless its client may go on elsewhere: it would come behind what that publishes there.
   */
  static final Runnable NOTHING = () -> {};

  private final Loop loop;
  private final @Nullable Party publisher;
  private final @Nullable Feedback feedback;
  private final Supplier<@Nullable ReasonCode> refusal;
  private final Runnable emptied;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>(2);

  private static final class Waiting {
    final Publication message;
    final @Nullable Acknowledgement acknowledgement;
    final Runnable passed;

    /** The result of setting it; null while that is unknown. */
    @Nullable ReasonCode set;

    Waiting(Publication message, @Nullable Acknowledgement acknowledgement, Runnable passed) {
      this.message = message;
      this.acknowledgement = acknowledgement;
      this.passed = passed;
    }
  }

  /**
   * @param publisher null for the application that embeds the node
   * @param refusal the reason to refuse messages of QoS 1 and 2 when it is their turn; null for none
   * @param emptied called when no message waits any more
   */
  public RetainLine(
      Loop loop, @Nullable Party publisher, @Nullable Feedback feedback, Supplier<@Nullable ReasonCode> refusal, Runnable emptied) {
    this.loop = loop;
    this.publisher = publisher;
    this.feedback = feedback;
    this.refusal = refusal;
    this.emptied = emptied;
  }

  /**
   * Passes a message of QoS 1 or 2 on, now or in its turn.
   *
   * @param acknowledgement expects one answer from here
   */
  public void pass(Publication message, Acknowledgement acknowledgement) {
    if (passesAtOnce(message)) append(message, acknowledgement);
    else enter(new Waiting(message, acknowledgement, NOTHING));
  }

  /** The same for a message that was retained before, if it is to be. */
  void passRetained(Publication message, Acknowledgement acknowledgement) {
    if (waiting.isEmpty()) {
      append(message, acknowledgement);
      return;
    }
    var next = new Waiting(message, acknowledgement, NOTHING);
    next.set = ReasonCode.SUCCESS;
    wait(next);
  }

  /**
   * Passes a message of QoS 0 on, now or in its turn, and counts it as delivered then.
   *
   * @param passed runs afterwards
   */
  public void passUnacknowledged(Publication message, Runnable passed) {
    if (passesAtOnce(message)) {
      append(message, null);
      passed.run();
      return;
    }
    loop.window().take(message.body().length);
    loop.counts().publishes().waiting(1);
    enter(new Waiting(message, null, passed));
  }

  private boolean passesAtOnce(Publication message) {
    return !message.retain() && waiting.isEmpty();
  }

  private void wait(Waiting next) {
    waiting.add(next);
    loop.meters().behindRetained(1);
  }

  private void enter(Waiting next) {
    wait(next);
    if (next.message.retain()) loop.retain(next.message, publisher, reason -> loop.post(() -> set(next, reason)));
    else next.set = ReasonCode.SUCCESS;
  }

  private void set(Waiting message, ReasonCode reason) {
    message.set = reason;
    if (reason.isError() && message.acknowledgement == null) loop.meters().storeFailed();
    boolean moved = false;
    for (Waiting head = waiting.peek(); head != null && head.set != null; head = waiting.peek()) {
      waiting.remove();
      loop.meters().behindRetained(-1);
      moved = true;
      passOn(head, head.set);
    }
    if (moved && waiting.isEmpty()) emptied.run();
  }

  private void passOn(Waiting head, ReasonCode set) {
    if (head.acknowledgement == null) {
      loop.counts().publishes().waiting(-1);
      if (publisher == null || loop.tiers().leased().getAsBoolean()) append(head.message, null);
      else loop.counts().publishes().dropped(DropReason.SESSION_ENDED, head.message, publisher);
      head.passed.run();
      loop.window().give(1, head.message.body().length);
      return;
    }
    ReasonCode refused = set.isError() ? set : refusal.get();
    if (refused != null) head.acknowledgement.answer(refused);
    else append(head.message, head.acknowledgement);
  }

  private void append(Publication message, @Nullable Acknowledgement acknowledgement) {
    loop.handOn(message, publisher, feedback, acknowledgement);
    if (acknowledgement == null) loop.counts().publishes().delivered();
    else acknowledgement.answer(ReasonCode.SUCCESS);
  }

  public boolean isEmpty() {
    return waiting.isEmpty();
  }

  /** Whether a message waits whose acknowledgement has a property. */
  boolean holds(Predicate<Acknowledgement> which) {
    for (Waiting each : waiting) if (each.acknowledgement != null && which.test(each.acknowledgement)) return true;
    return false;
  }
}
