package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.retain.RetainCommand.Add;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainCommand.Set;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RetainCodecTest {
  private final RetainCodec codec = new RetainCodec();

  static Stream<RetainCommand> commands() {
    byte[] key = TopicKeys.of(Messages.message("a/b", "1"));
    return Stream.of(
        new Set(RetainBounds.NONE, Messages.message("a/b", "payload")),
        new Set(new RetainBounds(1, 2, 3), Messages.expiring("é//", "payload", 1000, -1)),
        new Add(-1, RetainBounds.NONE, Messages.message("a/b", "payload")),
        new Add(1234567890123L, new RetainBounds(1, 2, 3), Messages.expiring("é//", "payload", 1000, -1)),
        new Clear(key),
        new RemoveExpired(1234567890123L, List.of()),
        new RemoveExpired(-1, List.of(key, new byte[70_000], new byte[0])));
  }

  static LongStream seeds() {
    return LongStream.rangeClosed(1, 10);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void commandsAreReadAsWritten(RetainCommand command) {
    byte[] bytes = encoded(command);

    RetainCommand read = codec.decode(ByteBuffer.wrap(bytes));

    assertThat(encoded(read)).isEqualTo(bytes);
    switch (read) {
      case Set set -> assertThat(set).extracting(Set::bounds, s -> s.message().topic())
          .containsExactly(((Set) command).bounds(), ((Set) command).message().topic());
      case Add add -> assertThat(add).extracting(Add::nowMillis, Add::bounds, a -> a.message().topic())
          .containsExactly(((Add) command).nowMillis(), ((Add) command).bounds(), ((Add) command).message().topic());
      case Clear clear -> assertThat(clear.key()).isEqualTo(((Clear) command).key());
      case RemoveExpired remove -> {
        assertThat(remove.nowMillis()).isEqualTo(((RemoveExpired) command).nowMillis());
        assertThat(remove.keys()).hasSameSizeAs(((RemoveExpired) command).keys());
      }
    }
  }

  private byte[] encoded(RetainCommand command) {
    ByteBuffer bytes = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, bytes);
    assertThat(bytes.hasRemaining()).as("bytes left of the encoded length").isFalse();
    return bytes.array();
  }

  @ParameterizedTest
  @MethodSource("commands")
  void aTruncatedCommandIsRefused(RetainCommand command) {
    byte[] bytes = encoded(command);
    if (command instanceof Clear) return; // Its key ends where the command ends.
    for (int length = 0; length < bytes.length; length += 1 + length / 10) {
      ByteBuffer part = ByteBuffer.wrap(Arrays.copyOf(bytes, length));
      assertThatThrownBy(() -> codec.decode(part)).as("%d bytes", length).isInstanceOf(IllegalStateException.class);
    }
  }

  @ParameterizedTest
  @MethodSource("commands")
  void aCommandWithTrailingBytesIsRefused(RetainCommand command) {
    if (command instanceof Clear) return;
    byte[] bytes = encoded(command);
    ByteBuffer longer = ByteBuffer.wrap(Arrays.copyOf(bytes, bytes.length + 1));
    assertThatThrownBy(() -> codec.decode(longer)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anUnknownKindIsRefused() {
    for (byte kind : new byte[] {0, 1, 6, -1}) {
      assertThatThrownBy(() -> codec.decode(ByteBuffer.wrap(new byte[] {kind, 0, 0})))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("unknown kind " + kind);
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBytesAreReadOrRefused(long seed) {
    Random random = new Random(seed);
    for (RetainCommand command : commands().toList()) {
      byte[] bytes = encoded(command);
      for (int i = 0; i < 200; i++) {
        byte[] damaged = bytes.clone();
        damaged[random.nextInt(Math.min(60, damaged.length))] = (byte) random.nextInt();
        try {
          codec.decode(ByteBuffer.wrap(damaged));
          RetainCodec.message(damaged);
        } catch (IllegalStateException expected) {
          assertThat(expected).as("seed %d", seed).hasMessageMatching(".+");
        }
      }
    }
  }

  @Test
  void aRemovalIsBounded() {
    RemoveExpired.Keys few = new RemoveExpired.Keys();
    while (!few.full()) few.add(new byte[20]);
    assertThat(few.list()).hasSize(RemoveExpired.KEYS_MAX);

    RemoveExpired.Keys large = new RemoveExpired.Keys();
    while (!large.full()) large.add(new byte[65_000]);
    assertThat(large.list()).hasSize(2);
  }
}
