package dunlin.broker.codec;

import static dunlin.broker.codec.Refusal.refused;
import static dunlin.model.ReasonCode.MALFORMED_PACKET;
import static dunlin.model.ReasonCode.PACKET_TOO_LARGE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The division of the bytes makes no difference to what is read, and little difference to the cost. */
class DeliveryInPiecesTest {
  private static final DecoderLimits LIMITS = DecoderLimits.defaults();

  static Stream<Arguments> seeds() {
    return Stream.of(ProtocolVersion.values())
        .flatMap(version -> Stream.of(11L, 12L).map(seed -> Arguments.of(version, seed)));
  }

  private static byte[] conversation(ProtocolVersion version, long seed) {
    var packets = new RandomPackets(version, seed);
    var out = new ByteArrayOutputStream();
    out.writeBytes(DifferentialTest.encode(version, packets.connect()));
    for (int i = 0; i < 60; i++) out.writeBytes(DifferentialTest.encode(version, packets.nextOfClient()));
    return out.toByteArray();
  }

  @ParameterizedTest
  @Tag("pitfall-33")
  @MethodSource("seeds")
  void piecesOfAnySizeGiveTheSameCalls(ProtocolVersion version, long seed) {
    byte[] bytes = conversation(version, seed);
    var whole = new Recorder();
    whole.feed(new PacketDecoder(LIMITS), bytes);
    assertThat(whole.calls()).hasSize(61);

    var random = new SplittableRandom(seed);
    for (int most : new int[] {1, 2, 7, 100, 5_000}) {
      // Single bytes on the plain heap: the leak detector notes each access to the other kinds, which takes seconds.
      ByteBuf in = most == 1 ? Unpooled.buffer(16) : buffer(random);
      var pieces = new Recorder();
      var decoder = new PacketDecoder(LIMITS);
      for (int at = 0; at < bytes.length; ) {
        int length = Math.min(bytes.length - at, 1 + random.nextInt(most));
        in.writeBytes(bytes, at, length);
        at += length;
        while (decoder.decode(in, pieces)) {}
        in.discardReadBytes();
      }
      assertThat(in.readableBytes()).isZero();
      assertThat(in.release()).as("buffer released").isTrue();
      assertThat(pieces.described()).as("seed %d, pieces of up to %d", seed, most).isEqualTo(whole.described());
    }
  }

  private static ByteBuf buffer(SplittableRandom random) {
    return switch (random.nextInt(3)) {
      case 0 -> PooledByteBufAllocator.DEFAULT.heapBuffer(16);
      case 1 -> PooledByteBufAllocator.DEFAULT.directBuffer(16);
      default -> UnpooledByteBufAllocator.DEFAULT.directBuffer(16);
    };
  }

  @Test
  void readerIndexStaysWhileBytesAreMissing() {
    byte[] packet = Wire.packet(0x30, "t", new byte[300]);
    ByteBuf in = Unpooled.buffer();
    in.writeBytes(Wire.CONNECT_3_1_1);
    var recorder = new Recorder();
    var decoder = new PacketDecoder(LIMITS);
    assertThat(decoder.decode(in, recorder)).isTrue();
    int start = in.readerIndex();
    for (int i = 0; i < packet.length - 1; i++) {
      in.writeByte(packet[i]);
      assertThat(decoder.decode(in, recorder)).isFalse();
      assertThat(in.readerIndex()).isEqualTo(start);
    }
    in.writeByte(packet[packet.length - 1]);
    assertThat(decoder.decode(in, recorder)).isTrue();
    assertThat(in.isReadable()).isFalse();
    in.release();
  }

  @ParameterizedTest
  @Tag("pitfall-30")
  @EnumSource
  @Tag("MQTT-1.5.5-1")
  void remainingLengthHasFourBytesAtMostAndNoneTooMany(ProtocolVersion version) {
    byte[] connect = Wire.connect(version);
    for (int first : new int[] {0x30, 0x40, 0x62, 0x82, 0xA2, 0xE0}) {
      refused(MALFORMED_PACKET, connect, Wire.bytes(first, 0x80, 0x80, 0x80, 0x80));
      refused(MALFORMED_PACKET, connect, Wire.bytes(first, 0xFF, 0xFF, 0xFF, 0xFF));
      refused(MALFORMED_PACKET, connect, Wire.bytes(first, 0x80, 0x00));
      refused(MALFORMED_PACKET, connect, Wire.bytes(first, 0x82, 0x80, 0x00));
    }
    refused(MALFORMED_PACKET, Wire.bytes(0x10, 0x80, 0x80, 0x80, 0x80));
    refused(MALFORMED_PACKET, Wire.bytes(0x10, 0x8C, 0x00));
  }

  @Test
  @Tag("pitfall-36")
  void aTooLargePacketIsRefusedBeforeItsBodyArrives() {
    var limits = new DecoderLimits(200, 100, 50, 10, 2, 0, true, 10);
    assertThat(refused(limits, PACKET_TOO_LARGE, Wire.bytes(0x10, 99)).version()).isEmpty();
    refused(limits, PACKET_TOO_LARGE, Wire.CONNECT_5, Wire.bytes(0x30, 0xC6, 0x01));
    refused(limits, PACKET_TOO_LARGE, Wire.CONNECT_5, Wire.bytes(0x30, 0xFF, 0xFF, 0xFF, 0x7F));
    byte[] largest = Wire.packet(0x30, "t", new byte[194]);
    assertThat(largest).hasSize(200);
    Refusal.accepted(limits, Wire.CONNECT_3_1_1, largest);
  }

  @Test
  void aConnectOf280KilobytesWithALimitOf1KilobyteIsRefusedWithItsFirstPiece() {
    byte[] user = Wire.bytes(0x26, "k", "v");
    byte[] properties = new byte[40_000 * user.length];
    for (int i = 0; i < properties.length; i++) properties[i] = user[i % user.length];
    byte[] connect =
        Wire.packet(0x10, "MQTT", 5, 2, Wire.u16(60), Wire.varint(properties.length), properties, "c");
    assertThat(connect).hasSizeGreaterThan(280_000);

    var limits = new DecoderLimits(1 << 20, 1_024, 100, 10, 32, 0, true, 10);
    var in = new CountingBuffer(Arrays.copyOf(connect, 1_400));
    assertThatThrownBy(() -> new PacketDecoder(limits).decode(in, new Recorder()))
        .isInstanceOfSatisfying(MalformedPacketException.class, e -> assertThat(e.reason()).isEqualTo(PACKET_TOO_LARGE));
    assertThat(in.bytesRead).as("bytes looked at").isLessThan(8);
    in.release();

    var roomy = new DecoderLimits(1 << 20, 1 << 20, 100, 10, 32, 0, true, 10);
    var all = new CountingBuffer(connect);
    assertThatThrownBy(() -> new PacketDecoder(roomy).decode(all, new Recorder()))
        .isInstanceOf(MalformedPacketException.class)
        .hasMessageContaining("user properties in one packet, limit 32 (dunlin.mqtt.user-properties-max)");
    assertThat(all.bytesRead).as("bytes looked at before the 33rd property is refused").isLessThan(1_000);
    all.release();
  }

  @Test
  void costGrowsWithTheBytesWhateverThePieces() {
    for (int piece : new int[] {1, 100, 100_000}) {
      long small = cost(50_000, piece);
      long large = cost(100_000, piece);
      assertThat(large).as("bytes read in pieces of %d", piece).isLessThan((long) (2.2 * small));
      assertThat(large).as("bytes read per byte").isLessThan(4 * 100_000);
    }
  }

  /** Number of bytes examined to read a CONNECT, and a PUBLISH, with this many bytes of user properties. */
  private static long cost(int size, int piece) {
    byte[] user = Wire.bytes(0x26, "name", "value");
    byte[] block = new byte[size / user.length * user.length];
    for (int i = 0; i < block.length; i++) block[i] = user[i % user.length];
    byte[] properties = Wire.properties(block);
    byte[] bytes =
        Wire.join(
            Wire.packet(0x10, "MQTT", 5, 2, Wire.u16(60), properties, "c"), Wire.packet(0x30, "t", properties, 'x'));
    var limits = new DecoderLimits(1 << 20, 1 << 20, 100, 10, 1 << 20, 0, true, 10);
    var in = new CountingBuffer(bytes);
    in.writerIndex(0);
    var decoder = new PacketDecoder(limits);
    var recorder = new Recorder();
    for (int at = 0; at < bytes.length; at += piece) {
      in.writerIndex(Math.min(bytes.length, at + piece));
      while (decoder.decode(in, recorder)) {}
    }
    assertThat(recorder.calls()).hasSize(2);
    long read = in.bytesRead;
    in.release();
    return read;
  }

  @Test
  void nothingBehindAMalformedPacketIsRead() {
    byte[] hidden = Wire.packet(0xC0);
    var recorder = new Recorder();
    var decoder = new PacketDecoder(LIMITS);
    ByteBuf in = Unpooled.wrappedBuffer(Wire.CONNECT_3_1_1, Wire.packet(0x30, "a#"), hidden);
    assertThat(decoder.decode(in, recorder)).isTrue();
    List<Throwable> thrown = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      try {
        decoder.decode(in, recorder);
      } catch (MalformedPacketException e) {
        thrown.add(e);
        in.skipBytes(Math.min(in.readableBytes(), 6));
      }
    }
    in.release();
    assertThat(thrown).hasSize(3).containsOnly(thrown.getFirst());
    assertThat(recorder.calls()).hasSize(1);
  }

  @Test
  void aPacketHiddenInAPayloadIsNeverRead() {
    byte[] hidden = Wire.packet(0xE0);
    var calls = Recorder.decode(LIMITS, Wire.CONNECT_3_1_1, Wire.packet(0x30, "t", hidden), Wire.packet(0xC0));
    assertThat(calls).hasSize(3);
    assertThat(calls.getLast()).isEqualTo(new Packet.Pingreq());
  }

  @Test
  void packetsOfEveryPublishAreReadWithoutAllocation() {
    byte[] frames =
        Wire.join(
            Wire.packet(0x30, "devices/4711/status", Wire.properties(0x02, Wire.u32(60), 0x26, "k", "v"), new byte[200]),
            Wire.packet(0x32, "devices/4711/status", Wire.u16(7), Wire.properties(), new byte[200]),
            Wire.packet(0x40, Wire.u16(7)),
            Wire.packet(0x62, Wire.u16(7)),
            Wire.packet(0xC0));
    // On the heap: the leak detector notes each access to a direct buffer, and that allocates.
    ByteBuf in = Unpooled.buffer().writeBytes(Wire.CONNECT_5).writeBytes(frames);
    var decoder = new PacketDecoder(LIMITS);
    var handler = new Ignoring();
    decoder.decode(in, handler);
    int start = in.readerIndex();
    Runnable round =
        () -> {
          for (int i = 0; i < 1_000; i++) {
            in.readerIndex(start);
            while (decoder.decode(in, handler)) {}
          }
        };
    assertThat(allocatedBy(round)).as("bytes allocated for 5,000 packets").isLessThan(5_000);
    assertThat(handler.packets).isEqualTo(1 + 2 * 5_000);
    in.release();
  }

  /** Number of bytes allocated by the second run, after classes were loaded and constants resolved. */
  static long allocatedBy(Runnable work) {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    work.run();
    long before = threads.getCurrentThreadAllocatedBytes();
    work.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
