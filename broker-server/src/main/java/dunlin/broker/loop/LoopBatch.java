package dunlin.broker.loop;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The batch from one event loop to another at the end of a round: messages to deliver, finished publishes, and returned
 * credit. It takes one push and at most one wake-up.
 */
public final class LoopBatch implements Runnable {
  /*
   * Owner: the source loop fills it and then hands it over to the target loop.
   * Bounds: its messages are within the windows of their lanes; the rest answers messages of the target's lane.
   * Failure: a message that cannot be delivered because of a bug is logged, counted and answered with an error. The
   * others arrive, and all credit is returned, except that of messages to a group's member: those keep their credit and
   * answer separately.
   */
  private final Loop from;
  private final Loop to;

  private @Nullable Publication[] messages = new Publication[16];
  private @Nullable Object[] targets = new Object[16];
  private @Nullable Acknowledgement[] acknowledgements = new Acknowledgement[16];
  private int size;

  /** Number and bytes of the messages whose credit of the source's lane is returned when they have arrived. */
  private int credited;

  private long bytes;

  private final ArrayList<Runnable> finished = new ArrayList<>();

  private int creditMessages;
  private long creditBytes;

  LoopBatch(Loop from, Loop to) {
    this.from = from;
    this.to = to;
  }

  /**
   * Adds a message.
   *
   * @param target the target of the message, as the {@link Loop.Resident} of the other loop knows it
   */
  public void add(Publication message, Object target, @Nullable Acknowledgement acknowledgement) {
    put(message, target, acknowledgement);
    credited++;
    bytes += message.body().length;
  }

  /** Adds a message whose target keeps its credit and answers separately. */
  public void addUncredited(Publication message, Object target) {
    put(message, target, null);
  }

  private void put(Publication message, Object target, @Nullable Acknowledgement acknowledgement) {
    if (size == messages.length) {
      messages = Arrays.copyOf(messages, size * 2);
      targets = Arrays.copyOf(targets, size * 2);
      acknowledgements = Arrays.copyOf(acknowledgements, size * 2);
    }
    messages[size] = message;
    targets[size] = target;
    acknowledgements[size++] = acknowledgement;
  }

  /** Adds a publish of the other loop that has all its answers, to be run there. */
  public void finished(Runnable publish) {
    finished.add(publish);
  }

  public void giveCredit(int count, long size) {
    creditMessages += count;
    creditBytes += size;
  }

  /** Processes the batch on the target loop. */
  @Override
  public void run() {
    if (creditMessages > 0) to.window().give(creditMessages, creditBytes);
    for (Runnable publish : finished) finish(publish);
    Loop.Resident resident = to.resident();
    for (int i = 0; i < size; i++) {
      Publication message = Objects.requireNonNull(messages[i]);
      Acknowledgement acknowledgement = acknowledgements[i];
      ReasonCode reason;
      try {
        if (!resident.arrive(message, Objects.requireNonNull(targets[i]), acknowledgement, from)) {
          credited--;
          bytes -= message.body().length;
          continue;
        }
        reason = ReasonCode.SUCCESS;
      } catch (RuntimeException | AssertionError e) {
        to.meters().unexpected("a message could not be delivered on another event loop", e);
        reason = ReasonCode.UNSPECIFIED_ERROR;
      }
      if (acknowledgement != null) answer(acknowledgement, reason);
    }
    if (credited > 0) to.batchTo(from).giveCredit(credited, bytes);
  }

  private void finish(Runnable publish) {
    try {
      publish.run();
    } catch (RuntimeException | AssertionError e) {
      to.meters().unexpected("a publish could not be acknowledged", e);
    }
  }

  private void answer(Acknowledgement acknowledgement, ReasonCode reason) {
    try {
      acknowledgement.answer(reason);
    } catch (RuntimeException | AssertionError e) {
      to.meters().unexpected("a message could not be answered", e);
    }
  }
}
