package dunlin.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.RangeDescriptor.Origin;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RangeDescriptorTest {
  private static final UUID NODE = new UUID(1, 2);

  static LongStream seeds() {
    return LongStream.range(0, 100);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsWhatItWrote(long seed) {
    var descriptor = descriptor(new Random(seed));

    assertThat(RangeDescriptor.parse(descriptor.toBytes())).as("seed %d", seed).isEqualTo(descriptor);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBytesAreRefusedOrDecoded(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 100; i++) {
      byte[] bytes = descriptor(random).toBytes();
      bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 10));
      if (bytes.length > 0) bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      try {
        RangeDescriptor.parse(bytes);
      } catch (IllegalStateException expected) {
        // Refused, as expected.
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + ", " + Arrays.toString(bytes), e);
      }
    }
  }

  @Test
  void theStoredFormStaysReadable() {
    byte[] stored =
        HexFormat.of()
            .parseHex(
                "02" + "00000000000000030000000000000004" + "06726f75746573" + "0110" + "010120" + "07"
                    + "02" + "00000000000000010000000000000002" + "00000000000000010000000000000003"
                    + "01" + "00000000000000050000000000000006" + "02" + "ac02");

    var descriptor = RangeDescriptor.parse(stored);

    assertThat(descriptor)
        .isEqualTo(
            new RangeDescriptor(
                new UUID(3, 4),
                "routes",
                KeyInterval.between(new byte[] {0x10}, new byte[] {0x20}),
                7,
                List.of(NODE, new UUID(1, 3)),
                new Origin(new UUID(5, 6), 2, 300)));
    assertThat(descriptor.toBytes()).isEqualTo(stored);
  }

  @Test
  void unknownFormatsAreRefused() {
    byte[] bytes = new RangeDescriptor(NODE, "routes", KeyInterval.all(), 1, List.of(), null).toBytes();
    bytes[0] = 1;
    assertThatThrownBy(() -> RangeDescriptor.parse(bytes))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("descriptor of a range of format 1, known is 2");
    assertThatThrownBy(() -> RangeDescriptor.parse(new byte[0])).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void halvesOfASplitHaveTheNextEpochAndTheSameNodes() {
    var whole = new RangeDescriptor(NODE, "routes", KeyInterval.all(), 3, List.of(NODE), null);
    byte[] cut = {7};

    var lower = whole.lower(cut);
    var upper = whole.upper(cut, new UUID(9, 9), new Origin(NODE, 1, 5));

    assertThat(lower).isEqualTo(new RangeDescriptor(NODE, "routes", KeyInterval.all().below(cut), 4, whole.peers(), null));
    assertThat(upper.keys()).isEqualTo(KeyInterval.all().from(cut));
    assertThat(upper.epoch()).isEqualTo(4);
    assertThat(upper.peers()).isEqualTo(whole.peers());
    assertThat(upper.origin()).contains(new Origin(NODE, 1, 5));
  }

  @Test
  void invalidDescriptorsAreRefused() {
    var twice = List.of(NODE, NODE);
    assertThatThrownBy(() -> new RangeDescriptor(NODE, "routes", KeyInterval.all(), 1, twice, null))
        .hasMessageContaining("two replicas on node");
    assertThatThrownBy(() -> new RangeDescriptor(NODE, "Routes", KeyInterval.all(), 1, List.of(), null))
        .hasMessageContaining("lower-case");
    assertThatThrownBy(() -> new RangeDescriptor(NODE, "routes", KeyInterval.all(), 0, List.of(), null))
        .hasMessageContaining("epoch 0");
    var many = new ArrayList<UUID>();
    for (int i = 0; i <= RangeDescriptor.PEERS_MAX; i++) many.add(new UUID(0, i));
    assertThatThrownBy(() -> new RangeDescriptor(NODE, "routes", KeyInterval.all(), 1, many, null))
        .hasMessageContaining("at most 16");
  }

  private static RangeDescriptor descriptor(Random random) {
    var peers = new ArrayList<UUID>();
    for (int i = random.nextInt(6); i > 0; i--) peers.add(new UUID(random.nextLong(), i));
    byte[] start = new byte[1 + random.nextInt(9)];
    random.nextBytes(start);
    byte[] end = Arrays.copyOf(start, start.length + 1);
    return new RangeDescriptor(
        new UUID(random.nextLong(), random.nextLong()),
        "sessions-" + random.nextInt(9),
        KeyInterval.between(start, random.nextBoolean() ? end : null),
        1 + random.nextInt(1000),
        peers,
        random.nextBoolean() ? new Origin(new UUID(0, random.nextLong()), random.nextInt(9), random.nextInt(999)) : null);
  }
}
