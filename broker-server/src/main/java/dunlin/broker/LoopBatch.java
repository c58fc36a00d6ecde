package dunlin.broker;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one event loop has for another one at the end of a round: messages to deliver, publishes that it has finished, and
 * credit to give back. One push and at most one wake-up carry them all.
 */
final class LoopBatch implements Runnable {
  /*
   * Owner: filled by the loop it comes from, then handed over whole to the one it goes to.
   * Bounds: the messages in it are within the windows of the source's lane; the rest answers messages of the target's lane.
   */
  private final Loop from;
  private final Loop to;

  private @Nullable Publication[] messages = new Publication[16];
  private @Nullable Object[] targets = new Object[16];
  private @Nullable Acknowledgement[] acknowledgements = new Acknowledgement[16];
  private int size;
  private long bytes;

  private final ArrayList<PendingPublish> finished = new ArrayList<>();

  private int creditMessages;
  private long creditBytes;

  LoopBatch(Loop from, Loop to) {
    this.from = from;
    this.to = to;
  }

  /**
   * Adds a message.
   *
   * @param target the {@link FilterHandle} that it matched, an array of several, the {@link Subscriber} that was picked, or a
   *     {@link DirectCopy}
   */
  void add(Publication message, Object target, @Nullable Acknowledgement acknowledgement) {
    if (size == messages.length) {
      messages = Arrays.copyOf(messages, size * 2);
      targets = Arrays.copyOf(targets, size * 2);
      acknowledgements = Arrays.copyOf(acknowledgements, size * 2);
    }
    messages[size] = message;
    targets[size] = target;
    acknowledgements[size++] = acknowledgement;
    bytes += message.body().length;
  }

  void finished(PendingPublish publish) {
    finished.add(publish);
  }

  void giveCredit(int count, long size) {
    creditMessages += count;
    creditBytes += size;
  }

  /** Arrives on the loop that it goes to. */
  @Override
  public void run() {
    if (creditMessages > 0) to.window().give(creditMessages, creditBytes);
    for (PendingPublish publish : finished) publish.run();
    int count = size;
    for (int i = 0; i < size; i++) {
      Publication message = Objects.requireNonNull(messages[i]);
      Acknowledgement acknowledgement = acknowledgements[i];
      switch (Objects.requireNonNull(targets[i])) {
        case FilterHandle filter -> {
          if (!to.deliverToSubscribers(message, filter)) {
            to.wide().add(message, new FilterHandle[] {filter}, acknowledgement, from);
            count--;
            bytes -= message.body().length;
            continue;
          }
        }
        case FilterHandle[] filters -> {
          if (!to.deliverToSubscribers(message, filters, filters.length)) {
            to.wide().add(message, filters, acknowledgement, from);
            count--;
            bytes -= message.body().length;
            continue;
          }
        }
        case Subscriber member -> {
          if (!to.groups().offer(message, member, acknowledgement, from)) {
            count--;
            bytes -= message.body().length;
          }
          acknowledgement = null; // the group answers for itself, maybe later
        }
        case DirectCopy copy -> to.pushed(copy.connection(), copy.message());
        default -> throw new IllegalStateException("a message for " + targets[i]);
      }
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }
    if (count > 0) to.batchTo(from).giveCredit(count, bytes);
  }
}
