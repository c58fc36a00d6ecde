package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Delivers messages of recorded QoS 2 exchanges to several ranges. The range of the publisher's session records the
 * exchange, so it gets the message last. MQTT 5, section 4.3.3.
 */
final class Exchanges {
  /*
   * Once an exchange is recorded, a repeated PUBLISH is only answered. So all other ranges must have stored the message
   * before that. They remember the exchange, so that a message that is repeated after a crash in between is stored
   * there once. They forget the exchange before it is released.
   *
   * The messages of one publisher are recorded in order: a message waits for those before it, even if only the
   * publisher's range stores it.
   *
   * Owner: any thread; the messages of one publisher are handed over by one thread at a time. A line has its own lock,
   * which is held while the message at its front is handed to the publisher's range; that never blocks.
   * Bounds: one line for each publisher with a message in flight to other ranges. Messages in it hold credit of their
   * lane.
   * Failure: the exchange of a message that another range refuses is not recorded. The answer says that the message may
   * be stored somewhere, so that the frontend releases the exchange before it answers the client.
   */
  private final ConcurrentHashMap<SessionKey, Line> lines = new ConcurrentHashMap<>();

  private static final class Line {
    @GuardedBy("this")
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>(2);

    @GuardedBy("this")
    private boolean over;
  }

  /** A message, and once it is known, whether the other ranges have stored it. */
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
   * Delivers a message that other ranges store as well.
   *
   * @param elsewhere hands the message to the other ranges; the acknowledgement expects one answer from each of them
   *     and one from the caller
   * @param record hands the message to the range of the publisher's session
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

  /** Delivers a message that only the range of the publisher's session stores. */
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

  /** Number of publishers with messages in flight to other ranges. */
  int waiting() {
    return lines.size();
  }

  /**
   * The acknowledgement of a message that other ranges may have stored. It never answers that nothing is stored,
   * because then the exchange would not be released.
   */
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
