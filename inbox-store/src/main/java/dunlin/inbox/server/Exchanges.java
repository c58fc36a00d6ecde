package dunlin.inbox.server;

import dunlin.inbox.rows.SessionKey;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Messages of recorded QoS 2 exchanges that several ranges store: the range of the publisher's session records the exchange, so it comes last. MQTT 5, section 4.3.3.
 */
final class Exchanges {
  /*
   * Once an exchange is recorded, a client that sends its message again is answered and nothing else is done. So all other ranges must have the message before.
   * They remember whose it is, so that one that comes again, after a crash between the two, is stored there once. They forget before the exchange is released.
   *
   * What one publisher sends is recorded in its order: a message waits for those before it, also when only its own range wants it.
   *
   * Owner: any thread; what one publisher sends is handed over by one thread at a time. A line has its own lock, which is held while the message at its front is
   *   handed to its publisher's range, which never blocks.
   * Bounds: one line for each publisher with a message on its way to other ranges. What waits in it holds credit of its lane.
   * Failure: what another range refuses is not recorded. Its answer says that something may be stored, so that the frontend releases the exchange before it answers.
   */
  private final ConcurrentHashMap<SessionKey, Line> lines = new ConcurrentHashMap<>();

  private static final class Line {
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>(2);
    private boolean over;
  }

  /** A message, and in the end whether the other ranges have it. */
  private static final class Waiting {
    private final Consumer<Acknowledgement> record;
    private final Acknowledgement acknowledgement;
    private boolean ready;
    private ReasonCode reason = ReasonCode.SUCCESS;

    Waiting(Consumer<Acknowledgement> record, Acknowledgement acknowledgement) {
      this.record = record;
      this.acknowledgement = acknowledgement;
    }

    void go() {
      if (reason.isError()) acknowledgement.answer(reason);
      else record.accept(acknowledgement);
    }
  }

  /**
   * Takes a message.
   *
   * @param elsewhere hands it to each other range that wants it, with an acknowledgement that expects one answer of each beside the caller's own
   * @param record hands it to the range of the publisher's session
   * @param acknowledgement expects one answer
   */
  void deliver(SessionKey publisher, Consumer<Acknowledgement> elsewhere, Consumer<Acknowledgement> record, Acknowledgement acknowledgement) {
    var waiting = new Waiting(record, new MayBeStored(acknowledgement));
    var line = join(publisher, waiting);
    var others =
        new Acknowledgement() {
          @Override
          public Terms terms() {
            return acknowledgement.terms();
          }

          @Override
          protected void complete(ReasonCode reason) {
            ready(publisher, line, waiting, reason);
          }
        };
    elsewhere.accept(others);
    others.answer(ReasonCode.SUCCESS);
  }

  /** Takes a message that no other range wants. */
  void deliver(SessionKey publisher, Consumer<Acknowledgement> record, Acknowledgement acknowledgement) {
    if (!lines.containsKey(publisher)) {
      record.accept(acknowledgement);
      return;
    }
    var waiting = new Waiting(record, acknowledgement);
    ready(publisher, join(publisher, waiting), waiting, ReasonCode.SUCCESS);
  }

  private Line join(SessionKey publisher, Waiting waiting) {
    while (true) {
      var line = lines.computeIfAbsent(publisher, _ -> new Line());
      synchronized (line) {
        if (line.over) continue;
        line.waiting.add(waiting);
        return line;
      }
    }
  }

  private void ready(SessionKey publisher, Line line, Waiting message, ReasonCode reason) {
    synchronized (line) {
      message.reason = reason;
      message.ready = true;
      for (var head = line.waiting.peek(); head != null && head.ready; head = line.waiting.peek()) {
        line.waiting.remove();
        head.go();
      }
      if (!line.waiting.isEmpty() || line.over) return;
      line.over = true;
      lines.remove(publisher, line);
    }
  }

  /** Publishers with messages on their way to other ranges. */
  int waiting() {
    return lines.size();
  }

  /** An answer for a message that other ranges may have: one that says that nothing is stored would not have the exchange released. */
  private static final class MayBeStored extends Acknowledgement {
    private final Acknowledgement acknowledgement;

    MayBeStored(Acknowledgement acknowledgement) {
      this.acknowledgement = acknowledgement;
    }

    @Override
    public Terms terms() {
      return acknowledgement.terms();
    }

    @Override
    protected void complete(ReasonCode reason) {
      acknowledgement.answer(reason == ReasonCode.SERVER_BUSY ? ReasonCode.UNSPECIFIED_ERROR : reason);
    }
  }
}
