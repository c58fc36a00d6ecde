package dunlin.inbox.between;

import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallProtocol;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.util.ArrayList;
import java.util.List;

/** Questions and answers between processes. A question is a kind byte, then the fields in the order in which the records declare them. */
final class RangeQuestionCodec {
  static final CallProtocol PROTOCOL =
      new CallProtocol(
          "sessions between 1",
          "session tier",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the session tier is not known")),
          StoreException::isForNextLeader,
          CallProtocol.Kinds.none());

  private static final int SUMS = 1;
  private static final int ENDED = 2;

  private RangeQuestionCodec() {}

  static byte[] encode(RangeQuestion question) {
    var out = new FrameWriter();
    switch (question) {
      case RangeQuestion.AskSums() -> out.octet(SUMS);
      case RangeQuestion.AskEnded(var sessions) -> {
        out.octet(ENDED).number(sessions.size());
        for (Birth each : sessions) out.text(each.tenant()).text(each.clientId()).number(each.birth());
      }
    }
    return out.take();
  }

  static RangeQuestion decode(byte[] question) throws MalformedFrameException {
    var in = new FrameReader(question);
    int kind = in.octet();
    return ended(
        in,
        switch (kind) {
          case SUMS -> new RangeQuestion.AskSums();
          case ENDED -> new RangeQuestion.AskEnded(readSessions(in));
          default -> throw new MalformedFrameException("kind " + kind + " of a question");
        });
  }

  private static List<Birth> readSessions(FrameReader in) throws MalformedFrameException {
    int count = in.count(OtherRange.SESSIONS_MAX);
    var sessions = new ArrayList<Birth>(count);
    for (int i = 0; i < count; i++) sessions.add(new Birth(in.text(), in.text(), in.number()));
    return sessions;
  }

  static byte[] encode(Sums sums) {
    return new FrameWriter().number(sums.durable()).number(sums.memory()).number(sums.messageBytes()).take();
  }

  static Sums decodeSums(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    try {
      return ended(in, new Sums(in.number(), in.number(), in.number()));
    } catch (IllegalArgumentException e) {
      throw new MalformedFrameException(String.valueOf(e.getMessage()));
    }
  }

  static byte[] encode(List<Boolean> flags) {
    var out = new FrameWriter().number(flags.size());
    for (boolean each : flags) out.octet(each ? 1 : 0);
    return out.take();
  }

  static List<Boolean> decodeFlags(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    int count = in.count(OtherRange.SESSIONS_MAX);
    var flags = new ArrayList<Boolean>(count);
    for (int i = 0; i < count; i++) {
      int octet = in.octet();
      if (octet > 1) throw new MalformedFrameException("flag " + octet);
      flags.add(octet == 1);
    }
    return ended(in, flags);
  }

  private static <T> T ended(FrameReader in, T value) throws MalformedFrameException {
    if (in.hasMore()) throw new MalformedFrameException("more than a question or an answer");
    return value;
  }
}
