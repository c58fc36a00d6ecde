package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Fuzz target: arbitrary bytes from a client, in pieces of any size.
 *
 * <p>The first byte of an input chooses the version (3: the input must contain its own CONNECT), the second how the
 * rest is divided. The checks are: only {@link MalformedPacketException} is thrown; the division makes no difference;
 * memory and work stay within a small factor of the input; accepted packets are read by Netty's codec in the same way,
 * and can be written and read again; packets that only Netty accepts are refused for a reason that is listed here.
 */
public final class DecoderFuzz {
  private static final DecoderLimits STRICT = DecoderLimits.defaults();
  private static final DecoderLimits LENIENT = DifferentialTest.LENIENT;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** A decoder's own objects, and an error message with a quotation. */
  private static final int ALLOCATED_BASE = 16 << 10;

  /** A subscription of 4 bytes becomes a string, a record and its options; user properties of 5 bytes become three objects. */
  private static final int ALLOCATED_PER_BYTE = 64;

  private static final int LOOKED_AT_BASE = 1_024;
  private static final int LOOKED_AT_PER_BYTE = 16;

  /** Reasons to refuse packets that Netty accepts, because it leaves these rules to the application. */
  private static final List<Pattern> STRICTER =
      patterns(
          // Order of packets and direction [MQTT-3.1.0-1, -2], for which Netty's decoder has no state.
          "the first packet is of type \\d+, not CONNECT",
          "a second CONNECT",
          "packet of type \\d+, which only a server sends",
          // Fixed headers: reserved flags and lengths [MQTT-2.1.3-1], remaining lengths in more bytes than needed.
          "flags \\d+ in the fixed header of type \\d+",
          "PUBLISH with DUP and QoS 0",
          "packet of type \\d+ with remaining length \\d+",
          "remaining length in more bytes than it needs",
          // Text: U+0000, overlong forms and surrogates [MQTT-1.5.4-1, -2].
          ".* contains (U\\+0000|bytes that are not UTF-8|overlong UTF-8|a surrogate|a code point above U\\+10FFFF)",
          // Topics: empty, with wildcards, of a shared subscription; aliases without a topic name.
          "empty (will topic|topic filter|Response Topic|topic name without a Topic Alias)",
          "(will topic|topic name|Response Topic) (of|with) .*",
          "Topic Alias \\d+",
          // Properties: allowed packets, repetitions, ranges and numbers (table 2-4).
          "(\\w| )+ in (a client's )?(\\w| )+",
          "(\\w| )+ twice in (\\w| )+",
          "(\\w| )+ in more (than 4 bytes|bytes than it needs)",
          "(Receive Maximum|Maximum Packet Size|Subscription Identifier|Payload Format Indicator|Request \\w+ Information) \\d+",
          "more than \\d+ (user properties|topic filters in one packet)",
          "Authentication Data without an Authentication Method",
          "AUTH without an Authentication Method",
          "properties of \\d+ bytes reach past the end of the packet by \\d+",
          // Limits of settings.
          ".*, limit \\d+ \\(dunlin\\.[a-z.-]+\\)",
          // Lengths of fields and packets that do not match.
          "(\\w| )+ reaches past the end",
          "\\d+ bytes too many in (\\w| )+",
          // Values.
          "packet identifier 0",
          "reason code \\d+ in (\\w| )+ of a client",
          "reserved bits in subscription options \\d+",
          "subscription with (QoS|Retain Handling) 3",
          "No Local on the shared subscription .*",
          "(SUBSCRIBE|UNSUBSCRIBE) without a topic filter",
          "will with QoS 3",
          "Will QoS or Will Retain without a will",
          "password without a user name",
          "empty client identifier in .*",
          "reserved connect flag set",
          "protocol name .*",
          "protocol .* level \\d+",
          "packet of the reserved type \\d+");

  private DecoderFuzz() {}

  private static List<Pattern> patterns(String... patterns) {
    return Arrays.stream(patterns).map(Pattern::compile).toList();
  }

  /** Jazzer's driver calls this by name. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length < 2) return;
    ProtocolVersion[] versions = ProtocolVersion.values();
    int choice = input[0] & 3;
    ProtocolVersion version = choice < versions.length ? versions[choice] : null;
    byte[] stream = Arrays.copyOfRange(input, 2, input.length);
    byte[] bytes = version == null ? stream : Wire.join(Wire.connect(version), stream);

    Read strict = inOnePiece(STRICT, bytes);
    piecesMakeNoDifference(STRICT, bytes, input[1], strict);
    costIsBounded(STRICT, bytes);
    Read lenient = inOnePiece(LENIENT, bytes);
    piecesMakeNoDifference(LENIENT, bytes, input[1], lenient);
    costIsBounded(LENIENT, bytes);
    agreesWithNetty(version, stream, lenient);
    canBeWrittenAgain(lenient);
  }

  /** What a decoder read from some bytes: the packets, and why it stopped. */
  private record Read(List<Object> packets, @Nullable MalformedPacketException failure) {
    List<String> described() {
      return packets.stream().map(Described::of).toList();
    }

    String reason() {
      return failure == null ? "none" : failure.reason() + " " + failure.getMessage();
    }
  }

  private static Read inOnePiece(DecoderLimits limits, byte[] bytes) {
    return inPieces(limits, bytes, () -> bytes.length);
  }

  @FunctionalInterface
  private interface Sizes {
    int next();
  }

  private static Read inPieces(DecoderLimits limits, byte[] bytes, Sizes sizes) {
    var decoder = new PacketDecoder(limits);
    var recorder = new Recorder();
    ByteBuf in = Unpooled.wrappedBuffer(bytes).writerIndex(0);
    try {
      while (in.writerIndex() < bytes.length) {
        in.writerIndex((int) Math.min(bytes.length, (long) in.writerIndex() + Math.max(1, sizes.next())));
        int before = in.readerIndex();
        while (decoder.decode(in, recorder)) {
          assertThat(in.readerIndex()).as("reader index behind a packet").isGreaterThan(before);
          before = in.readerIndex();
        }
        assertThat(in.readerIndex()).as("reader index without a packet").isEqualTo(before);
      }
      return new Read(recorder.calls(), null);
    } catch (MalformedPacketException e) {
      assertThat(e.reason().isError()).isTrue();
      return new Read(recorder.calls(), e);
    }
  }

  private static void piecesMakeNoDifference(DecoderLimits limits, byte[] bytes, int seed, Read whole) {
    var random = new SplittableRandom(seed);
    int most = 1 + (seed & 0x7F);
    Read pieces = inPieces(limits, bytes, () -> 1 + random.nextInt(most));
    assertThat(pieces.described()).isEqualTo(whole.described());
    assertThat(pieces.reason()).isEqualTo(whole.reason());
  }

  private static void costIsBounded(DecoderLimits limits, byte[] bytes) {
    var in = new CountingBuffer(bytes);
    in.writerIndex(0);
    var decoder = new PacketDecoder(limits);
    var handler = new Ignoring();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    try {
      while (in.writerIndex() < bytes.length) {
        in.writerIndex(in.writerIndex() + 1);
        while (decoder.decode(in, handler)) {}
      }
    } catch (MalformedPacketException _) {
      // The cost of a refusal counts as well.
    }
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
    assertThat(allocated)
        .as("bytes allocated for %d bytes", bytes.length)
        .isLessThanOrEqualTo(ALLOCATED_BASE + (long) ALLOCATED_PER_BYTE * bytes.length);
    assertThat(in.bytesRead)
        .as("bytes looked at of %d bytes", bytes.length)
        .isLessThanOrEqualTo(LOOKED_AT_BASE + (long) LOOKED_AT_PER_BYTE * bytes.length);
  }

  private static void agreesWithNetty(@Nullable ProtocolVersion given, byte[] stream, Read ours) {
    List<Object> packets = given == null ? ours.packets() : ours.packets().subList(1, ours.packets().size());
    ProtocolVersion version =
        given != null ? given : packets.isEmpty() ? ProtocolVersion.MQTT_3_1_1 : ((Packet.Connect) packets.getFirst()).version();
    if (version == ProtocolVersion.MQTT_3_1 && mayHaveWhatOnlyMqtt31Allows(stream)) return;
    List<Object> theirs = Netty.decode(version, stream, packets.size());
    String context = ByteBufUtil.hexDump(stream) + ", refused: " + ours.reason();
    assertThat(theirs).as("packets that Netty reads in %s", context).hasSizeGreaterThanOrEqualTo(packets.size());
    for (int i = 0; i < packets.size(); i++) {
      assertThat(Described.of(packets.get(i)))
          .as("packet %d in %s", i, context)
          .isEqualTo(Described.of(DifferentialTest.asHandedOver(theirs.get(i))));
    }
    MalformedPacketException failure = ours.failure();
    if (failure == null || theirs.size() == packets.size()) return;
    String message = String.valueOf(failure.getMessage());
    assertThat(STRICTER).as("known reasons to refuse what Netty accepts: %s", message).anyMatch(p -> p.matcher(message).matches());
  }

  /** Repeated packets with DUP, and CONNECT flags whose fields are missing, are only valid in MQTT 3.1. */
  private static boolean mayHaveWhatOnlyMqtt31Allows(byte[] stream) {
    for (byte b : stream) if ((b & 0x0F) == 0x0A) return true;
    return stream.length > 0 && (stream[0] & 0xF0) == 0x10;
  }

  private static void canBeWrittenAgain(Read read) {
    if (read.packets().isEmpty()) return;
    ProtocolVersion version = ((Packet.Connect) read.packets().getFirst()).version();
    byte[][] written = read.packets().stream().map(packet -> DifferentialTest.encode(version, packet)).toArray(byte[][]::new);
    Read again = inOnePiece(LENIENT, Wire.join(written));
    assertThat(again.described()).isEqualTo(read.described());
    assertThat(again.reason()).isEqualTo("none");
  }
}
