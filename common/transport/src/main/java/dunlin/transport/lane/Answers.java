package dunlin.transport.lane;

import dunlin.model.ReasonCode;

/**
 * The answers to the messages of a stream, which both sides count from 1. Consecutive messages with the same answer are
 * one run, so that "all up to here" is short. Also reports which messages wait for a group, and what
 * was picked for the groups of a message.
 *
 * <pre>
 *   0 ANSWERED   first minus the end of the previous run (signed), count, reason code, whether there were subscribers
 *   1 WAITS      number minus the end of the previous run (signed)
 *   2 WAITS_NO_LONGER
 *   3 BESIDES      bytes for the sender's companion
 *   4 ENDS         number of the last message that is delivered over this link
 *   5 PICKED       number minus the end of the previous run (signed), what was picked
 * </pre>
 */
final class Answers {
  private static final int ANSWERED = 0;
  private static final int WAITS = 1;
  private static final int WAITS_NO_LONGER = 2;
  private static final int BESIDES = 3;
  private static final int ENDS = 4;
  private static final int PICKED = 5;

  private Answers() {}

  /** Receives the contents of a frame. */
  interface Listener {
    void answered(long number, ReasonCode reason, boolean matched) throws MalformedFrameException;

    void waits(long number) throws MalformedFrameException;

    void waitsNoLonger(long number) throws MalformedFrameException;

    void told(byte[] besides) throws MalformedFrameException;

    /** Later messages are not delivered. */
    void ends(long last) throws MalformedFrameException;

    void picked(long number, long shard) throws MalformedFrameException;
  }

  /** Builds a frame. */
  static final class Writer {
    private final FrameWriter out = new FrameWriter();
    private long end;
    private long first;
    private int run;
    private ReasonCode reason = ReasonCode.SUCCESS;
    private boolean matched;

    void answered(long number, ReasonCode why, boolean wanted) {
      if (run > 0 && number == first + run && why == reason && wanted == matched) {
        run++;
        return;
      }
      endRun();
      first = number;
      run = 1;
      reason = why;
      matched = wanted;
    }

    private void endRun() {
      if (run == 0) return;
      out.octet(ANSWERED).signed(first - end).number(run).octet(reason.code()).octet(matched ? 1 : 0);
      end = first + run;
      run = 0;
    }

    void waits(long number, boolean begins) {
      endRun();
      out.octet(begins ? WAITS : WAITS_NO_LONGER).signed(number - end);
    }

    void besides(byte[] bytes) {
      endRun();
      out.octet(BESIDES).bytes(bytes);
    }

    void ends(long last) {
      endRun();
      out.octet(ENDS).number(last);
    }

    void picked(long number, long shard) {
      endRun();
      out.octet(PICKED).signed(number - end).number(shard);
    }

    /** Bytes of what was written, without the last run. */
    int size() {
      return out.size();
    }

    boolean isEmpty() {
      return out.size() == 0 && run == 0;
    }

    byte[] take() {
      endRun();
      end = 0;
      return out.take();
    }
  }

  static void read(byte[] frame, int runMax, Listener listener) throws MalformedFrameException {
    var in = new FrameReader(frame);
    long end = 0;
    while (in.hasMore()) {
      int kind = in.octet();
      switch (kind) {
        case ANSWERED -> {
          long first = end + in.signed();
          int run = in.count(runMax);
          int code = in.octet();
          var reason = ReasonCode.of(code);
          if (reason == null) throw new MalformedFrameException("reason code " + code);
          boolean matched = in.octet() != 0;
          for (int i = 0; i < run; i++) listener.answered(first + i, reason, matched);
          end = first + run;
        }
        case WAITS -> listener.waits(end + in.signed());
        case WAITS_NO_LONGER -> listener.waitsNoLonger(end + in.signed());
        case ENDS -> listener.ends(in.number());
        case PICKED -> listener.picked(end + in.signed(), in.number());
        case BESIDES -> listener.told(in.bytes());
        default -> throw new MalformedFrameException("kind " + kind + " of an answer");
      }
    }
  }
}
