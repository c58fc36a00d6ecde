package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

public class RouteCodecTest {
  private static final ShardId SHARD = ShardId.frontend("nöde");
  private static final TopicFilter FILTER = new TopicFilter("ä/+/#", "group", true);
  private final RouteCodec codec = new RouteCodec();

  static List<RouteCommand> commands() {
    return List.of(
        new Add(new Route("tenant", FILTER, SHARD, Long.MAX_VALUE, -7)),
        new Add(new Route("", new TopicFilter("a", "g", false), ShardId.inbox(12), -1, 0)),
        new Add(new Route("t", TopicFilter.plain("$share/g/x"), ShardId.inbox(0), 0, 1)),
        new Remove("tenant", FILTER, SHARD, 5),
        new Remove("tenant", TopicFilter.plain("/"), ShardId.inbox(3), 5),
        new PurgeBefore(SHARD, 9, new byte[0], 1),
        new PurgeBefore(ShardId.inbox(1), 9, new byte[] {1, -1, 0}, 1_000));
  }

  static LongStream seeds() {
    return LongStream.range(0, 500);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void readsWhatItWrote(RouteCommand command) {
    byte[] bytes = InMemoryRange.bytes(codec, command);

    assertThat(codec.decode(ByteBuffer.wrap(bytes))).usingRecursiveComparison().isEqualTo(command);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void refusesBytesThatEndEarly(RouteCommand command) {
    byte[] bytes = InMemoryRange.bytes(codec, command);
    int fixed = bytes.length - tail(command);

    for (int length = 0; length < fixed; length++) {
      byte[] part = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> codec.decode(ByteBuffer.wrap(part)))
          .as("%d of %d bytes", length, bytes.length)
          .isInstanceOf(IllegalStateException.class);
    }
  }

  /** The bytes of the last part, which has no length. */
  private static int tail(RouteCommand command) {
    return switch (command) {
      case Add(Route route) -> route.shard().equals(SHARD) ? 5 : route.shard().name().length();
      case Remove(_, _, var shard, _) -> shard.equals(SHARD) ? 5 : shard.name().length();
      case PurgeBefore(_, _, var cursor, _) -> cursor.length;
    };
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBytesAreRefusedOrGiveAValidCommand(long seed) {
    var random = new Random(seed);
    byte[] bytes = InMemoryRange.bytes(codec, commands().get(random.nextInt(commands().size())));
    for (int i = 0; i < 2; i++) bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);

    RouteCommand command;
    try {
      command = codec.decode(ByteBuffer.wrap(bytes));
    } catch (IllegalStateException expected) {
      return;
    }
    byte[] again = InMemoryRange.bytes(codec, command);
    assertThat(codec.decode(ByteBuffer.wrap(again))).as("seed %d", seed).usingRecursiveComparison().isEqualTo(command);
  }

  @Test
  void aPurgeOfTooManyRowsIsLimited() {
    byte[] bytes = InMemoryRange.bytes(codec, new PurgeBefore(SHARD, 9, new byte[0], 1));
    ByteBuffer.wrap(bytes).putInt(1 + 8, Integer.MAX_VALUE);

    assertThat(codec.decode(ByteBuffer.wrap(bytes)))
        .isInstanceOfSatisfying(PurgeBefore.class, purge -> assertThat(purge.limit()).isEqualTo(PurgeBefore.LIMIT_MAX));
  }

  @Test
  void refusesUnknownKindsAndFormats() {
    assertThatThrownBy(() -> codec.decode(ByteBuffer.wrap(new byte[40]))).isInstanceOf(IllegalStateException.class);
    byte[] key = RouteRows.key("t", FILTER, SHARD);
    assertThatThrownBy(() -> RouteRows.route(key, new byte[0])).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> RouteRows.route(key, new byte[13])).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void rowsOfOneTenantAreAdjacent() {
    byte[] a = RouteRows.key("a", TopicFilter.plain("z"), SHARD);
    byte[] b = RouteRows.key("b", TopicFilter.plain("a"), SHARD);

    assertThat(Arrays.compareUnsigned(a, b)).isNegative();
    assertThat(Arrays.equals(a, 0, 3, RouteRows.key("a", FILTER, SHARD), 0, 3)).isTrue();
  }
}
