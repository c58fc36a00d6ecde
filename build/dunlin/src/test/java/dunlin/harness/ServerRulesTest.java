package dunlin.harness;

import static dunlin.harness.PacketBytes.noProperties;
import static dunlin.harness.PacketBytes.bytes;
import static dunlin.harness.PacketBytes.connect;
import static dunlin.harness.PacketBytes.properties;
import static dunlin.harness.PacketBytes.u16;
import static dunlin.harness.PacketBytes.u32;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The checks of the tests' own client, on packets that break a rule. */
class ServerRulesTest {
  private static final byte[] CONNECT_3 = connect(4, true, 0, "c", noProperties());
  private static final byte[] CONNECT_5 = connect(5, true, 0, "c", noProperties());
  private static final byte[] CONNACK_3 = {0, 0};
  private static final byte[] CONNACK_5 = {0, 0, 0};

  static Stream<Arguments> broken() {
    byte[] id = u16(1);
    byte[] user = bytes(0x26, "k", "v");
    return Stream.of(
        Arguments.of("a type that is none", 0x00, bytes(), bytes()),
        Arguments.of("what a client sends", 0x82, bytes(id, "t", 0), bytes(id, 0, "t", 0)),
        Arguments.of("flags of PUBACK", 0x42, id, id),
        Arguments.of("flags of PUBREL", 0x60, id, id),
        Arguments.of("DUP with QoS 0", 0x38, bytes("t"), bytes("t", 0)),
        Arguments.of("QoS 3", 0x36, bytes("t", id), bytes("t", id, 0)),
        Arguments.of("packet identifier 0", 0x32, bytes("t", u16(0)), bytes("t", u16(0), 0)),
        Arguments.of("a wildcard", 0x30, bytes("t/#"), bytes("t/#", 0)),
        Arguments.of("no topic", 0x30, bytes(""), bytes("", 0)),
        Arguments.of("a topic that is not UTF-8", 0x30, bytes(u16(1), 0xFF), bytes(u16(1), 0xFF, 0)),
        Arguments.of("a topic with U+0000", 0x30, bytes("a\0"), bytes("a\0", 0)),
        Arguments.of("a second CONNACK", 0x20, CONNACK_3, CONNACK_5),
        Arguments.of("SUBACK without a code", 0x90, id, bytes(id, 0)),
        Arguments.of("SUBACK with QoS 3", 0x90, bytes(id, 3), bytes(id, 0, 3)),
        Arguments.of("bytes too many", 0xD0, bytes(0), bytes(0)),
        Arguments.of("an acknowledgement cut off", 0x40, bytes(0), bytes(0)),
        Arguments.of("AUTH without a method", 0xF0, bytes(), bytes(0x18, properties(bytes(0x15, "m")))),
        Arguments.of("a client's property", 0x30, bytes("+"), bytes("t", properties(bytes(0x19, 1)))),
        Arguments.of("a property twice", 0x30, bytes("+"), bytes("t", properties(bytes(0x01, 1), bytes(0x01, 1)))),
        Arguments.of("a number out of range", 0x30, bytes("+"), bytes("t", properties(bytes(0x01, 2)))),
        Arguments.of("a topic alias that the client does not take", 0x30, bytes("+"), bytes("t", properties(bytes(0x23, u16(1))))),
        Arguments.of("a length in too many bytes", 0x30, bytes("+"), bytes("t", 0x80, 0)),
        Arguments.of("a reason that is none", 0xE0, bytes(), bytes(0x04)),
        Arguments.of("a reason of another packet", 0x40, bytes(0), bytes(id, 0x92)),
        Arguments.of("an expiry in DISCONNECT", 0xE0, bytes(), bytes(0x8B, properties(bytes(0x11, u32(1))))),
        Arguments.of("properties of UNSUBACK", 0xB0, bytes(id, 0), bytes(id, properties(bytes(0x1C, "x")), 0)),
        Arguments.of("a user property cut off", 0x30, bytes("+"), bytes("t", 5, user)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("broken")
  void aPacketThatBreaksARuleFails(String what, int first, byte[] body3, byte[] body5) {
    assertRefused(accepted(CONNECT_3, CONNACK_3), first, body3);
    assertRefused(accepted(CONNECT_5, CONNACK_5), first, body5);
  }

  @Test
  void packetsAroundConnackThatBreakARuleFail() {
    for (int first : new int[] {0x30, 0xD0, 0xE0}) assertRefused(asked(CONNECT_5), first, first == 0x30 ? bytes("t", 0) : bytes());
    assertRefused(asked(CONNECT_3), 0x20, bytes(1, 0)); // Session Present after a clean session
    assertRefused(asked(connect(4, false, 0, "c", noProperties())), 0x20, bytes(1, 2)); // and in a refusal
    assertRefused(asked(CONNECT_5), 0x20, bytes(0, 0, properties(bytes(0x12, "chosen"))));
    assertRefused(asked(connect(5, true, 0, "", noProperties())), 0x20, CONNACK_5);
    assertRefused(accepted(CONNECT_5, bytes(0, 0x87, 0)), 0xD0, bytes());
    ServerRules ended = accepted(CONNECT_5, CONNACK_5);
    ended.received(0xE0, 1, bytes(0x8B));
    assertRefused(ended, 0xD0, bytes());
  }

  @Test
  void packetsThatIgnoreTheClientsConnectFail() {
    byte[] terse = connect(5, true, 0, "c", properties(bytes(0x17, 0), bytes(0x27, u32(20))));
    assertRefused(accepted(terse, CONNACK_5), 0x40, bytes(u16(1), 0x87, properties(bytes(0x1F, "why"))));
    assertRefused(accepted(terse, CONNACK_5), 0x30, bytes("t", 0, "x".repeat(20)));
    assertThatThrownBy(() -> accepted(CONNECT_5, CONNACK_5).received(0xD0, 2, bytes())).isInstanceOf(AssertionError.class);
  }

  /** CONNECT is understood in any pieces, and an invalid one counts as one of MQTT 3.1.1. */
  @Test
  void correctPacketsPass() {
    ServerRules rules = new ServerRules();
    for (byte b : connect(5, true, 0, "", properties(bytes(0x22, u16(1)), bytes(0x26, "k", "v".repeat(200))))) rules.sent(new byte[] {b});
    rules.received(0x20, 1, bytes(0, 0, properties(bytes(0x12, "chosen"))));
    rules.received(0x30, 1, bytes("t", properties(bytes(0x23, u16(1)), bytes(0x0B, 1), bytes(0x0B, 2)), "payload"));
    rules.received(0x3D, 1, bytes("", u16(7), properties(bytes(0x23, u16(1)))));
    rules.received(0x62, 1, bytes(u16(7), 0x92, properties(bytes(0x1F, "why"))));
    rules.received(0xE0, 1, bytes(0x8E));
    assertThatCode(() -> accepted(connect(9, true, 0, "c", noProperties()), bytes(0, 1))).doesNotThrowAnyException();
  }

  private static ServerRules asked(byte[] connect) {
    ServerRules rules = new ServerRules();
    rules.sent(connect);
    return rules;
  }

  private static ServerRules accepted(byte[] connect, byte[] connack) {
    ServerRules rules = asked(connect);
    rules.received(0x20, 1, connack);
    return rules;
  }

  private static void assertRefused(ServerRules rules, int first, byte[] body) {
    assertThatThrownBy(() -> rules.received(first, 1, body)).isInstanceOf(AssertionError.class).hasMessageContaining("the server sent");
  }
}
