package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.raft.Command.Delete;
import dunlin.store.raft.Command.Put;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class EntryFormatTest {
  static LongStream seeds() {
    return LongStream.range(0, 50);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsWhatItWrote(long seed) {
    var random = new Random(seed);
    List<Command> commands =
        Stream.generate(() -> (Command) new Put("key" + random.nextInt(), "v".repeat(random.nextInt(100))))
            .limit(random.nextInt(20))
            .toList();

    assertThat(EntryFormat.decode(encode(commands), Command.CODEC).commands()).as("seed %d", seed).isEqualTo(commands);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBytesAreRefusedOrDecoded(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 100; i++) {
      byte[] bytes = encode(List.of(new Put("key", "value"), new Delete("key"))).array();
      bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 10));
      if (bytes.length > 0) bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      var in = ByteBuffer.wrap(bytes);
      try {
        EntryFormat.decode(in, Command.CODEC);
      } catch (IllegalStateException expected) {
        // Refused, as expected.
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + ", " + Arrays.toString(bytes), e);
      }
    }
  }

  @Test
  void refusesUnknownFormatsWrongCountsAndTrailingBytes() {
    byte[] good = encode(List.of(new Delete("key"))).array();
    refuse(good, 0, 9, "format 9");
    refuse(good, 1, 127, "claims");
    refuse(good, 4, 0, "bytes too many");
    refuse(good, 5, -1, "claims -");
    assertThatThrownBy(() -> EntryFormat.decode(ByteBuffer.wrap(new byte[] {1, 0, 0}), Command.CODEC))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("log entry ends too early");
  }

  @Test
  void aCodecThatMiscountsIsCaught() {
    assertThatThrownBy(() -> EntryFormat.append(ByteBuffer.allocate(100), new Delete("key"), 50, Command.CODEC))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("a command of 50 bytes was encoded in 12");
  }

  private static void refuse(byte[] good, int at, int value, String message) {
    byte[] bad = good.clone();
    bad[at] = (byte) value;
    assertThatThrownBy(() -> EntryFormat.decode(ByteBuffer.wrap(bad), Command.CODEC))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(message);
  }

  private static ByteBuffer encode(List<Command> commands) {
    int length = EntryFormat.headerBytes(EntryFormat.FIRST_EPOCH);
    for (var command : commands) length += EntryFormat.COMMAND_HEADER_BYTES + Command.CODEC.encodedLength(command);
    var out = ByteBuffer.allocate(length);
    EntryFormat.begin(out, EntryFormat.FIRST_EPOCH, commands.size());
    for (var command : commands) EntryFormat.append(out, command, Command.CODEC.encodedLength(command), Command.CODEC);
    return out.flip();
  }
}
