package dunlin.inbox.between;

import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.GroupPart;
import dunlin.inbox.between.OtherRange.Held;
import dunlin.inbox.between.OtherRange.Picked;
import dunlin.inbox.between.OtherRange.SetAside;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.inbox.between.OtherRange.Taken;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.ways.WantedTenants;
import dunlin.transport.call.CallProtocol;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Questions and answers between processes. A question is a kind byte, then the fields in the order in which the records declare them. */
final class RangeQuestionCodec {
  static final CallProtocol PROTOCOL =
      new CallProtocol(
          "sessions between 3",
          "session tier",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the session tier is not known")),
          StoreException::isForNextLeader,
          CallProtocol.Kinds.none());

  private static final int SUMS = 1;
  private static final int ENDED = 2;
  private static final int PARTS = 4;
  private static final int OVER = 5;
  private static final int STORE = 6;
  private static final int PICK = 7;
  private static final int HELD = 8; // kind 3 asked for the sessions of tenants alone

  private static final SessionCommandCodec COMMANDS = new SessionCommandCodec();

  /** Reads one of several. */
  private interface Reading<T> {
    T read() throws MalformedFrameException;
  }

  private RangeQuestionCodec() {}

  static byte[] encode(RangeQuestion question) {
    var out = new FrameWriter();
    switch (question) {
      case RangeQuestion.AskSums() -> out.octet(SUMS);
      case RangeQuestion.AskHeld(var tenants) -> {
        out.octet(HELD).number(tenants.size());
        for (String each : tenants) out.text(each);
      }
      case RangeQuestion.AskEnded(var sessions) -> {
        out.octet(ENDED).number(sessions.size());
        for (Birth each : sessions) out.text(each.tenant()).text(each.clientId()).number(each.birth());
      }
      case RangeQuestion.AskParts(var groups) -> {
        out.octet(PARTS).number(groups.size());
        for (GroupKey each : groups) write(out, each);
      }
      case RangeQuestion.AskOver(var numbers) -> {
        out.octet(OVER).number(numbers.size());
        for (SetAside each : numbers) write(out, each.group()).number(each.number());
      }
      case RangeQuestion.Store(var messages) -> out.octet(STORE).bytes(bytes(messages));
      case RangeQuestion.Pick(var pick) -> out.octet(PICK).bytes(bytes(pick));
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
          case HELD -> new RangeQuestion.AskHeld(list(in, WantedTenants.TENANTS_MAX, in::text));
          case ENDED -> new RangeQuestion.AskEnded(readSessions(in));
          case PARTS -> new RangeQuestion.AskParts(list(in, () -> readGroup(in)));
          case OVER -> new RangeQuestion.AskOver(list(in, () -> new SetAside(readGroup(in), in.number())));
          case STORE -> new RangeQuestion.Store(readMessages(in.bytes()));
          case PICK -> new RangeQuestion.Pick(readPick(in.bytes()));
          default -> throw new MalformedFrameException("kind " + kind + " of a question");
        });
  }

  private static List<Birth> readSessions(FrameReader in) throws MalformedFrameException {
    int count = in.count(OtherRange.SESSIONS_MAX);
    var sessions = new ArrayList<Birth>(count);
    for (int i = 0; i < count; i++) sessions.add(new Birth(in.text(), in.text(), in.number()));
    return sessions;
  }

  private static FrameWriter write(FrameWriter out, GroupKey group) {
    return out.text(group.tenant()).text(group.filter().text());
  }

  private static GroupKey readGroup(FrameReader in) throws MalformedFrameException {
    String tenant = in.text();
    var filter = TopicFilter.parse(in.text()).filter(TopicFilter::shared).orElseThrow(() -> new MalformedFrameException("not the filter of a shared subscription"));
    return new GroupKey(tenant, filter);
  }

  private static <T> List<T> list(FrameReader in, Reading<T> reading) throws MalformedFrameException {
    return list(in, OtherRange.NAMES_MAX, reading);
  }

  private static <T> List<T> list(FrameReader in, int max, Reading<T> reading) throws MalformedFrameException {
    int count = in.count(max);
    var all = new ArrayList<T>(count);
    for (int i = 0; i < count; i++) all.add(reading.read());
    return all;
  }

  /** Only what other leaders may bring. */
  private static SessionCommand readMessages(byte[] command) throws MalformedFrameException {
    var read = readCommand(command);
    boolean may =
        read instanceof SessionCommand.AcceptTransfer
            || read instanceof SessionCommand.AppendToGroupOfExchange
            || (read instanceof SessionCommand.AppendToGroup append && append.exchange() == null);
    if (!may) throw unproposed(read);
    return read;
  }

  private static SessionCommand.PickForGroup readPick(byte[] command) throws MalformedFrameException {
    var read = readCommand(command);
    if (read instanceof SessionCommand.PickForGroup pick) return pick;
    throw unproposed(read);
  }

  private static MalformedFrameException unproposed(SessionCommand command) {
    return new MalformedFrameException("a command that other ranges do not propose: " + command.getClass().getSimpleName());
  }

  private static byte[] bytes(SessionCommand command) {
    var bytes = ByteBuffer.allocate(COMMANDS.encodedLength(command));
    COMMANDS.encode(command, bytes);
    return bytes.array();
  }

  private static SessionCommand readCommand(byte[] command) throws MalformedFrameException {
    try {
      return COMMANDS.decode(ByteBuffer.wrap(command));
    } catch (RuntimeException e) {
      throw new MalformedFrameException("not a command: " + e.getMessage());
    }
  }

  static byte[] encode(Picked picked) {
    return new FrameWriter().signed(picked.pick()).number(picked.birth()).take();
  }

  static Picked decodePicked(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    return ended(in, new Picked(in.signed(), in.number()));
  }

  static byte[] encodeParts(List<GroupPart> parts) {
    var out = new FrameWriter().number(parts.size());
    for (GroupPart each : parts) out.number(each.credit()).octet(each.takes() ? 1 : 0);
    return out.take();
  }

  static List<GroupPart> decodeParts(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    return ended(in, list(in, () -> readPart(in)));
  }

  private static GroupPart readPart(FrameReader in) throws MalformedFrameException {
    int credit = in.count(Integer.MAX_VALUE);
    boolean takes = readFlag(in);
    if (takes && credit == 0) throw new MalformedFrameException("a group that takes messages without credit");
    return new GroupPart(credit, takes);
  }

  static byte[] encode(Taken taken) {
    return new FrameWriter().octet(codeOf(taken)).take();
  }

  static Taken decodeTaken(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    int octet = in.octet();
    for (Taken each : Taken.values()) if (codeOf(each) == octet) return ended(in, each);
    throw new MalformedFrameException("outcome " + octet);
  }

  private static int codeOf(Taken taken) {
    return switch (taken) {
      case YES -> 1;
      case NO -> 2;
      case FULL -> 3;
    };
  }

  private static boolean readFlag(FrameReader in) throws MalformedFrameException {
    int octet = in.octet();
    if (octet > 1) throw new MalformedFrameException("flag " + octet);
    return octet == 1;
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

  static byte[] encodeHeld(List<Held> held) {
    var out = new FrameWriter().number(held.size());
    for (Held each : held) out.number(each.durable()).number(each.subscriptions()).number(each.messageBytes());
    return out.take();
  }

  static List<Held> decodeHeld(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    try {
      return ended(in, list(in, WantedTenants.TENANTS_MAX, () -> new Held(in.number(), in.number(), in.number())));
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
    for (int i = 0; i < count; i++) flags.add(readFlag(in));
    return ended(in, flags);
  }

  private static <T> T ended(FrameReader in, T value) throws MalformedFrameException {
    if (in.hasMore()) throw new MalformedFrameException("more than a question or an answer");
    return value;
  }
}
