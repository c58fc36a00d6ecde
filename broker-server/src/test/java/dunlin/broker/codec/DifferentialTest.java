package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares this codec with Netty's, for packets generated from seeds. */
class DifferentialTest {
  private static final int PACKETS = 100;
  private static final int MUTANTS = 1_500;
  static final DecoderLimits LENIENT = new DecoderLimits(1 << 20, 1 << 20, 65_535, 65_536, 1_000, 0, false, 1_000);

  static Stream<Arguments> seeds() {
    return Stream.of(ProtocolVersion.values())
        .flatMap(version -> Stream.of(1L, 2L, 3L).map(seed -> Arguments.of(version, seed)));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsWhatNettyWrites(ProtocolVersion version, long seed) {
    var packets = new RandomPackets(version, seed);
    for (int i = 0; i < PACKETS; i++) {
      Packet.Connect connect = packets.connect();
      Object packet = packets.nextOfClient();

      List<Object> read =
          Recorder.decode(
              DecoderLimits.defaults(), Netty.encode(version, connect), Netty.encode(version, packet));

      assertThat(read).as("seed %d, packet %d", seed, i).hasSize(2);
      assertThat(Described.of(read.get(0))).as("seed %d, packet %d", seed, i).isEqualTo(Described.of(connect));
      assertThat(Described.of(read.get(1)))
          .as("seed %d, packet %d", seed, i)
          .isEqualTo(Described.of(asHandedOver(packet)));
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void nettyReadsWhatIsWrittenToClients(ProtocolVersion version, long seed) {
    var packets = new RandomPackets(version, seed);
    for (int i = 0; i < PACKETS; i++) {
      Object packet = packets.nextOfServer();

      List<Object> read = Netty.decode(version, encode(version, packet));

      assertThat(read).as("seed %d, packet %d: %s", seed, i, packet).hasSize(1);
      assertThat(Described.of(read.getFirst())).as("seed %d, packet %d", seed, i).isEqualTo(Described.of(packet));
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void nettyReadsWhatIsWrittenForClients(ProtocolVersion version, long seed) {
    var packets = new RandomPackets(version, seed);
    for (int i = 0; i < PACKETS; i++) {
      Object packet = i % 3 == 0 ? packets.connect() : packets.nextOfClient();

      List<Object> read = Netty.decode(version, encode(version, packet));

      assertThat(read).as("seed %d, packet %d: %s", seed, i, packet).hasSize(1);
      assertThat(Described.of(read.getFirst())).as("seed %d, packet %d", seed, i).isEqualTo(Described.of(packet));
    }
  }

  /**
   * Damaged packets: whatever this codec still accepts, Netty must accept and read in the same way; this codec may only
   * be stricter.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void acceptsNothingThatNettyRefuses(ProtocolVersion version, long seed) {
    var packets = new RandomPackets(version, seed);
    var random = new SplittableRandom(seed);
    int accepted = 0;
    int refused = 0;
    for (int i = 0; i < MUTANTS; i++) {
      boolean connects = i % 4 == 0;
      byte[] packet = encode(version, connects ? packets.connect() : packets.nextOfClient());
      for (int k = random.nextInt(3); k >= 0; k--) {
        packet[random.nextInt(packet.length)] = (byte) (random.nextBoolean() ? random.nextInt(256) : random.nextInt(8));
      }
      String context = "seed " + seed + ", mutant " + i + ": " + ByteBufUtil.hexDump(packet);

      List<Object> ours = new ArrayList<>();
      try {
        ours.addAll(connects ? Recorder.decode(LENIENT, packet) : Recorder.decode(LENIENT, Wire.connect(version), packet));
        if (!connects) ours.removeFirst();
        accepted++;
      } catch (MalformedPacketException e) {
        assertThat(e.reason().isError()).isTrue();
        refused++;
        continue;
      }

      if (ours.isEmpty()) continue; // the length now exceeds the present bytes
      if (version == ProtocolVersion.MQTT_3_1 && onlyMqtt31Allows(packet, ours.getFirst())) continue;
      List<Object> theirs = Netty.decode(version, packet);
      assertThat(theirs).as(context).isNotEmpty();
      assertThat(Described.of(ours.getFirst())).as(context).isEqualTo(Described.of(asHandedOver(theirs.getFirst())));
    }
    assertThat(accepted).as("accepted, seed %d", seed).isGreaterThan(MUTANTS / 20);
    assertThat(refused).as("refused, seed %d", seed).isGreaterThan(MUTANTS / 20);
  }

  /** A repeated PUBREL, SUBSCRIBE or UNSUBSCRIBE; a user name or password that is announced and missing: Netty refuses them. */
  static boolean onlyMqtt31Allows(byte[] packet, Object read) {
    if (!(read instanceof Packet.Connect connect)) return (packet[0] & 0x0F) == 0x0A;
    int flags = packet[(packet[1] < 0 ? 3 : 2) + 9];
    return ((flags & 0x80) != 0 && connect.userName() == null) || ((flags & 0x40) != 0 && connect.password() == null);
  }

  /** The decoder discards the reason string and user properties of acknowledgements. */
  static Object asHandedOver(Object packet) {
    return switch (packet) {
      case Packet.Puback p -> p.withoutProblemInformation(false);
      case Packet.Pubrec p -> p.withoutProblemInformation(false);
      case Packet.Pubrel p -> p.withoutProblemInformation(false);
      case Packet.Pubcomp p -> p.withoutProblemInformation(false);
      default -> packet;
    };
  }

  static byte[] encode(ProtocolVersion version, Object packet) {
    ByteBuf out = Unpooled.buffer();
    switch (packet) {
      case Publish p ->
          PacketEncoder.publish(
              out, version, p.publication(), p.qos(), p.dup(), p.retain(), p.packetId(), new int[0], 0, Publish.NOW);
      case Packet.Disconnect _ when !version.hasProperties() -> out.writeShort(0xE000);
      case Packet p -> PacketEncoder.encode(out, version, p);
      default -> throw new IllegalArgumentException("packet " + packet);
    }
    byte[] bytes = Wire.readAll(out);
    out.release();
    return bytes;
  }
}
