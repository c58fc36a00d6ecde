package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dunlin.store.remote.Frames.EncodedReply;
import dunlin.store.remote.Frames.Kind;
import dunlin.store.serve.RangeLocation;
import dunlin.store.serve.RangeReply;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FramesTest {
  static LongStream seeds() {
    return LongStream.range(0, 40);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void requestsAreReadAsWritten(long seed) {
    var random = new Random(seed);
    var commands = new ArrayList<byte[]>();
    int bytes = Frames.REQUESTS_HEADER_BYTES;
    for (int i = random.nextInt(6); i >= 0; i--) {
      var command = new byte[random.nextInt(50)];
      random.nextBytes(command);
      commands.add(command);
      bytes += Frames.REQUEST_HEADER_BYTES + command.length;
    }
    var range = new UUID(random.nextLong(), random.nextLong());
    long epoch = random.nextLong(Long.MAX_VALUE);
    boolean ordered = random.nextBoolean();
    var frame = new byte[bytes];
    var out = ByteBuffer.wrap(frame);
    Frames.beginRequests(out, range, epoch, ordered, commands.size());
    for (int i = 0; i < commands.size(); i++)
      Frames.appendRequest(out, 7L * i, i % 2 == 0 ? Kind.COMMAND : Kind.BARRIER, i, commands.get(i));

    var read = Frames.requests(frame);

    assertThat(Frames.kind(frame)).isEqualTo(Frames.REQUESTS);
    assertThat(read.range()).isEqualTo(range);
    assertThat(read.epoch()).isEqualTo(epoch);
    assertThat(read.ordered()).isEqualTo(ordered);
    assertThat(read.requests()).hasSameSizeAs(commands);
    for (int i = 0; i < commands.size(); i++) {
      var request = read.requests().get(i);
      assertThat(request.number()).isEqualTo(7L * i);
      assertThat(request.kind()).isEqualTo(i % 2 == 0 ? Kind.COMMAND : Kind.BARRIER);
      assertThat(request.millisLeft()).isEqualTo(i);
      var command = new byte[request.command().remaining()];
      request.command().get(command);
      assertThat(command).isEqualTo(commands.get(i));
    }
  }

  private static List<RangeReply> everyReply() {
    var peers = List.of(new RangeLocation.Peer(new UUID(1, 2), "node.example", 4711));
    return List.of(
        new RangeReply.Done(new byte[] {1, 2, 3}),
        new RangeReply.NotLeader(null),
        new RangeReply.NotLeader(new UUID(3, 4)),
        new RangeReply.WrongEpoch(new RangeLocation(new UUID(5, 6), 7, new byte[] {1}, null, peers, new UUID(1, 2))),
        new RangeReply.WrongEpoch(new RangeLocation(new UUID(5, 6), 7, new byte[0], new byte[] {9}, peers, null)),
        new RangeReply.Overloaded(),
        new RangeReply.Unavailable("no such range"),
        new RangeReply.Expired(),
        new RangeReply.Unknown("who knows"));
  }

  private static byte[] frameOf(List<RangeReply> replies) {
    var encoded = new ArrayList<EncodedReply>();
    int bytes = Frames.REPLIES_HEADER_BYTES;
    for (int i = 0; i < replies.size(); i++) {
      encoded.add(EncodedReply.of(i, replies.get(i)));
      bytes += encoded.getLast().bytes();
    }
    return Frames.replies(encoded, bytes);
  }

  @Test
  void repliesAreReadAsWritten() {
    var read = Frames.replies(frameOf(everyReply()));

    assertThat(read).extracting(Frames.Reply::number).containsExactly(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
    assertThat(read)
        .extracting(Frames.Reply::outcome)
        .usingRecursiveFieldByFieldElementComparator()
        .containsExactlyElementsOf(everyReply());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedFramesAreRefused(long seed) {
    var random = new Random(seed);
    int bytes = Frames.REQUESTS_HEADER_BYTES + 2 * (Frames.REQUEST_HEADER_BYTES + 5);
    var requests = new byte[bytes];
    var out = ByteBuffer.wrap(requests);
    Frames.beginRequests(out, new UUID(1, 1), 1, true, 2);
    for (int i = 0; i < 2; i++) Frames.appendRequest(out, i, Kind.COMMAND, 1000, new byte[5]);
    byte[] replies = frameOf(everyReply());
    for (int i = 0; i < 200; i++) {
      byte[] damagedRequests = damaged(requests, random);
      byte[] damagedReplies = damaged(replies, random);
      readOrRefuse(seed, i, () -> Frames.requests(damagedRequests));
      readOrRefuse(seed, i, () -> Frames.replies(damagedReplies));
      readOrRefuse(seed, i, () -> Frames.hello(damagedReplies));
    }
  }

  private static void readOrRefuse(long seed, int round, Runnable read) {
    try {
      read.run();
    } catch (FrameException _) {
      // Refused, as expected.
    } catch (RuntimeException e) {
      fail("seed " + seed + ", round " + round, e);
    }
  }

  /** The frame with some bytes changed, and in half of all cases shortened or lengthened. */
  static byte[] damaged(byte[] frame, Random random) {
    int length = random.nextBoolean() ? frame.length : 1 + random.nextInt(frame.length + 20);
    var damaged = new byte[length];
    System.arraycopy(frame, 0, damaged, 0, Math.min(length, frame.length));
    for (int i = random.nextInt(4); i >= 0; i--) damaged[random.nextInt(length)] = (byte) random.nextInt(256);
    return damaged;
  }

  @Test
  void aCountAllocatesNoMoreThanTheFrameHolds() {
    var frame = new byte[Frames.REQUESTS_HEADER_BYTES];
    Frames.beginRequests(ByteBuffer.wrap(frame), new UUID(1, 1), 1, false, Integer.MAX_VALUE);

    assertThatThrownBy(() -> Frames.requests(frame)).isInstanceOf(FrameException.class).hasMessageContaining("claims");
  }
}
