package dunlin.inbox.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.RangeHarness;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.transport.Terms;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class SessionCommandCodecTest {
  private static final SessionCommandCodec CODEC = new SessionCommandCodec();

  static Stream<SessionCommand> commands() {
    var h = new RangeHarness();
    var session = new SessionRef("tenant", "clïent", Long.MAX_VALUE);
    var options = new SubscriptionOptions(QoS.EXACTLY_ONCE, true, true, 2, 268_435_455);
    var message = h.message("p", "a/b", QoS.EXACTLY_ONCE, "payload");
    var connection = new ConnectionId("node", -1, Long.MIN_VALUE);
    return Stream.of(
        new SessionCommand.Configure(InboxSettings.defaults().limits()),
        new SessionCommand.Connect(
            1, new InboxClient.Connect("t", "c", "u", connection, true, true, 0xFFFF_FFFFL, new Will(message, 77))),
        new SessionCommand.Connect(1, new InboxClient.Connect("t", "", "", connection, false, false, 0, null)),
        new SessionCommand.Subscribe(
            session,
            List.of(
                new Subscription(RangeHarness.filter("a/#"), SubscriptionOptions.of(QoS.AT_MOST_ONCE)),
                new Subscription(RangeHarness.filter("$oshare/g/+"), options))),
        new SessionCommand.Unsubscribe(session, List.of(RangeHarness.filter("$share/g//"))),
        new SessionCommand.Disconnect(Long.MAX_VALUE, session, true, 10, 11),
        new SessionCommand.Append(
            5, message, new Publication.Exchange(9, 65_535), new Terms.Origin(Long.MIN_VALUE, Long.MAX_VALUE, 0, true, List.of(-1L, 7L)), List.of(RangeHarness.filter("$share/g/a")), false, 0),
        new SessionCommand.Append(5, message, null, null, List.of(), true, 0),
        new SessionCommand.Append(5, message.asRepetition(), null, null, List.of(), false, 0),
        new SessionCommand.Append(5, message.asRepetition(), new Publication.Exchange(9, 1), null, List.of(), false, 0),
        new SessionCommand.Append(5, message, new Publication.Exchange(9, 1), null, List.of(), false, Long.MIN_VALUE),
        new SessionCommand.AppendTo(5, session, options, 17, List.of(message, message)),
        new SessionCommand.AppendToGroup(5, RangeHarness.filter("$share/g/a"), message, null),
        new SessionCommand.AppendToGroup(
            5, RangeHarness.filter("$share/g/a"), message, new OpenExchange(65_535, Long.MAX_VALUE, Terms.Origin.fromRecord(Long.MIN_VALUE, Long.MAX_VALUE, List.of(-1L, 7L)))),
        new SessionCommand.Acknowledge(session, new long[] {1, 2, 3, 1000, 7, Long.MAX_VALUE}, true),
        new SessionCommand.Acknowledge(session, new long[0], false),
        new SessionCommand.Received(session, 1L << 40),
        new SessionCommand.Released(session, 1),
        new SessionCommand.Delivered(session, List.of(1, 65_535)),
        new SessionCommand.Delivered(session, List.of()),
        new SessionCommand.WillPublished("t", "c", 3),
        new SessionCommand.Tick(1, 2, 3),
        new SessionCommand.FrontendGone(1, "node", 2, 3),
        new SessionCommand.ConnectionGone(1, "t", "c", new ConnectionId("node", 2, 3)),
        new SessionCommand.Remove(1, "t", "c"),
        new SessionCommand.DrainGroup(1, new GroupKey("t", RangeHarness.filter("$share/g/a")), 4),
        new SessionCommand.AppendOfExchange(
            1L << 40, Long.MAX_VALUE, 65_535, new SessionCommand.Append(5, message, null, null, List.of(RangeHarness.filter("$share/g/a")), false, 7)),
        new SessionCommand.AppendToGroupOfExchange(
            1L << 40, new SessionCommand.AppendToGroup(5, RangeHarness.filter("$share/g/a"), message, new OpenExchange(65_535, 9, Terms.Origin.fromRecord(-1, 7, List.of(-3L))))),
        new SessionCommand.PickForGroup("t", "c", new OpenExchange(1, Long.MAX_VALUE, Terms.Origin.fromRecord(1, 7, List.of())), RangeHarness.filter("$oshare/g/a"), -1),
        new SessionCommand.ForgetExchange("t", "c", 9, Long.MAX_VALUE, 65_535),
        new SessionCommand.Append(
            5, message, Publication.Exchange.ofWill(Long.MAX_VALUE), Terms.Origin.ofWill(Long.MAX_VALUE, true).withPicked(List.of(-1L)), List.of(RangeHarness.filter("$share/g/a")), true, 0),
        new SessionCommand.AppendOfExchange(0, 1, Publication.Exchange.WILL, new SessionCommand.Append(5, message, null, null, List.of(), true, 0)),
        new SessionCommand.PickForGroup("t", "c", new OpenExchange(Publication.Exchange.WILL, 9, Terms.Origin.ofWill(9, true)), RangeHarness.filter("$share/g/a"), 1),
        new SessionCommand.ForgetPublishers(
            List.of(new ForeignExchanges.Over(new SessionKey("t", "c"), 9, 10, true), new ForeignExchanges.Over(new SessionKey("t", ""), 0, Long.MAX_VALUE, false))),
        new SessionCommand.ForgetPublishers(List.of()),
        new SessionCommand.Import(
            5, new InboxClient.Connect("t", "c", "u", connection, false, true, 1, null), List.of(1, 65_535),
            List.of(
                new InboxMessage(1, QoS.AT_LEAST_ONCE, false, false, false, new int[0], message),
                new InboxMessage(SessionExports.SEQUENCE_MAX, QoS.EXACTLY_ONCE, true, true, true, new int[] {1, 268_435_455}, message))),
        new SessionCommand.Import(5, new InboxClient.Connect("t", "c", "", connection, false, true, 1, null), List.of(), List.of()),
        new SessionCommand.Beside(1, 1L << 40, Long.MAX_VALUE, new SessionCommand.Remove(1, "t", "c")),
        new SessionCommand.Beside(1, 2, 3, 0, new SessionCommand.Remove(1, "t", "c")),
        new SessionCommand.Beside(0, 0, 0, 1L << 50, new SessionCommand.Remove(1, "t", "c")),
        new SessionCommand.Beside(0, 0, 5, new SessionCommand.Append(5, message, null, null, List.of(), true, 0)));
  }

  @ParameterizedTest
  @MethodSource("commands")
  void aCommandReadIsTheCommandWritten(SessionCommand command) {
    byte[] bytes = encoded(command);

    var read = CODEC.decode(ByteBuffer.wrap(bytes));

    assertThat(encoded(read)).isEqualTo(bytes);
    assertThat(read)
        .usingRecursiveComparison()
        .ignoringFields("message.exchange", "append.message.exchange", "command.message.exchange", "messages.message.exchange")
        .isEqualTo(command);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void aCommandCutShortOrTooLongIsNotRead(SessionCommand command) {
    byte[] bytes = encoded(command);
    for (int length = 0; length < bytes.length; length++) {
      var cut = ByteBuffer.wrap(bytes, 0, length);
      assertThatThrownBy(() -> CODEC.decode(cut)).isInstanceOf(IllegalStateException.class);
    }
    var more = ByteBuffer.allocate(bytes.length + 1).put(bytes).rewind();
    assertThatThrownBy(() -> CODEC.decode(more)).isInstanceOf(IllegalStateException.class);
  }

  static LongStream seeds() {
    return LongStream.range(0, 20);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBytesAreReadOrRefusedAndNothingElse(long seed) {
    var random = new Random(seed);
    for (SessionCommand command : commands().toList()) {
      byte[] bytes = encoded(command);
      for (int i = 0; i < 50; i++) {
        byte[] damaged = bytes.clone();
        damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
        try {
          assertThat(CODEC.decode(ByteBuffer.wrap(damaged))).isNotNull();
        } catch (IllegalStateException refused) {
          assertThat(refused).hasMessageMatching("(?s).+");
        }
      }
    }
  }

  @Test
  void anUnknownKindIsRefused() {
    assertThatThrownBy(() -> CODEC.decode(ByteBuffer.wrap(new byte[] {99}))).hasMessageContaining("99");
  }

  private static byte[] encoded(SessionCommand command) {
    var out = ByteBuffer.allocate(CODEC.encodedLength(command));
    CODEC.encode(command, out);
    assertThat(out.hasRemaining()).isFalse();
    return out.array();
  }
}
