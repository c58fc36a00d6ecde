package dunlin.broker.listen;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.Choices;
import dunlin.broker.codec.Wire;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * Fuzz target: a connection that begins with a PROXY protocol header, version 1 or 2, valid or invalid, or with
 * anything else.
 *
 * <p>The checks are: the division makes no difference, neither to whether the connection is accepted nor to the address
 * in the header; nothing fails inside; few bytes are held; nothing is left: each address may connect again once its
 * connection is closed.
 */
public final class ProxyFuzz {
  private static final byte[] MAGIC = Wire.bytes(0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A);
  private static final byte[] CONNECT = Wire.packet(0x10, "MQTT", 5, 2, Wire.u16(0), Wire.properties(), "c");
  private static final String[] ADDRESSES = {"10.0.0.1", "10.0.0.2", "2001:db8::1", "::ffff:10.0.0.1"};

  /** The objects for all inputs of a run. */
  private static final class Shared {
    static final Fronts FRONTS = new Fronts();
  }

  private ProxyFuzz() {}

  /** Jazzer's driver calls this by name, once and without a time limit. */
  public static void fuzzerInitialize() {
    assertThat(Shared.FRONTS.listener("proxy").getConnections()).isZero();
  }

  /** Jazzer's driver calls this by name. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length < 2) return;
    var choices = new Choices(input);
    var random = new SplittableRandom(choices.below(256));
    byte[] begin = header(choices);
    if (choices.yes()) begin = Wire.join(begin, header(choices));
    byte[] bytes = Wire.join(begin, CONNECT, Wire.packet(0xC0), choices.bytes(64));

    Listener listener = Shared.FRONTS.listener("proxy");
    Fronts.Outcome whole = Shared.FRONTS.connection(listener, bytes, () -> bytes.length);
    Fronts.Outcome pieces = Shared.FRONTS.connection(listener, bytes, () -> 1 + random.nextInt(16));
    assertThat(pieces.open()).as("open, in pieces").isEqualTo(whole.open());
    if (whole.open()) {
      assertThat(pieces.source()).as("source, in pieces").isEqualTo(whole.source());
      assertThat(pieces.written()).as("answers, in pieces").hasSameSizeAs(whole.written());
    }
    for (String address : ADDRESSES) {
      byte[] good = version1(address.contains(":") ? "TCP6" : "TCP4", address, address, "1", "2");
      Fronts.Outcome witness = Shared.FRONTS.connection(listener, good, () -> good.length);
      assertThat(witness.open()).as("another connection of %s", address).isTrue();
    }
  }

  private static byte[] header(Choices choices) {
    return switch (choices.below(3)) {
      case 0 ->
          version1(
              choices.of("TCP4", "TCP6", "UNKNOWN", "UDP4", "TCP4"), choices.of(ADDRESSES), choices.of(ADDRESSES),
              choices.of("1", "65535", "65536", "-1", ""), choices.of("2", "0", "x"));
      case 1 -> version2(choices);
      default -> choices.bytes(choices.below(120));
    };
  }

  private static byte[] version1(String protocol, String source, String destination, String sourcePort, String destinationPort) {
    String line = String.join(" ", "PROXY", protocol, source, destination, sourcePort, destinationPort) + "\r\n";
    return line.getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] version2(Choices choices) {
    int command = choices.of(0x21, 0x20, 0x22, 0x11, 0x31);
    int family = choices.of(0x11, 0x21, 0x31, 0x00, 0x12, 0x41);
    int size =
        switch (family >> 4) {
          case 1 -> 12;
          case 2 -> 36;
          case 3 -> 216;
          default -> choices.below(20);
        };
    byte[] addresses = new byte[size];
    byte[] given = choices.bytes(choices.below(40));
    System.arraycopy(given, 0, addresses, 0, Math.min(size, given.length));
    byte[] extensions =
        switch (choices.below(4)) {
          case 1 -> Wire.bytes(choices.of(0x01, 0x03, 0x04, 0x05, 0x20), Wire.u16(3), 1, 2, 3);
          case 2 -> Wire.bytes(0x20, Wire.u16(choices.of(5, 65_535)), 7, 0, 0, 0, 0);
          case 3 -> choices.bytes(choices.below(30));
          default -> new byte[0];
        };
    int length = addresses.length + extensions.length + choices.of(0, 0, 1, -1, 5_000, 60_000);
    return Wire.join(MAGIC, Wire.bytes(command, family, Wire.u16(length)), addresses, extensions);
  }
}
