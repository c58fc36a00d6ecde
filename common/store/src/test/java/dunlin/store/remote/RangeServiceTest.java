package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.StoreException;
import dunlin.store.serve.RangeReply;
import dunlin.store.settings.RangeServiceSettings;
import io.grpc.Status;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The service with callers that send arbitrary bytes. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RangeServiceTest {
  private static final int KIB = 1024;
  private static final Duration LONG = Duration.ofMinutes(2);

  static LongStream seeds() {
    return LongStream.range(0, 5);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void garbageEndsItsStreamAndNoOther(long seed) throws Exception {
    var random = new Random(seed);
    try (var cluster = LedgerCluster.start(1);
        var honest = new RawStream(cluster.node(0).port)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      honest.greet(cluster.node(0).id);
      for (int i = 0; i < 20; i++) {
        try (var hostile = new RawStream(cluster.node(0).port)) {
          boolean greets = random.nextBoolean();
          if (greets) hostile.send(RawStream.hello(cluster.node(0).id));
          byte[] frame = FramesTest.damaged(RawStream.requests(ledger.range, 1, true, 8, 1, 2, 3), random);
          // Kinds that are valid by chance are excluded: the frame must be garbage.
          frame[0] = (byte) (greets ? 3 + random.nextInt(20) : random.nextInt(20));
          hostile.send(frame);
          hostile.send(new byte[] {99});

          var status = hostile.awaitEnd();

          assertThat(status.getCode()).as("seed %d, round %d: %s", seed, i, status).isEqualTo(Status.Code.INVALID_ARGUMENT);
          assertThat(status.getDescription()).isNotBlank();
        }
      }
      honest.send(RawStream.requests(ledger.range, 1, false, 8, 1_000_000 + seed));
      honest.read(1);

      assertThat(honest.awaitReplies(1).getFirst().outcome()).isInstanceOf(RangeReply.Done.class);
      assertThat(honest.open()).isTrue();
      assertThat(cluster.node(0).meters.counter("dunlin.store.service.frames.bad").count()).isEqualTo(20);
    }
  }

  @Test
  void aFrameBeyondItsBoundEndsItsStreamAndNoOther() throws Exception {
    var settings = new RangeServiceSettings(10, 100, 64 * KIB, 128 * KIB, 64 * KIB, Duration.ofSeconds(5));
    try (var cluster = LedgerCluster.start(1, settings, null);
        var honest = new RawStream(cluster.node(0).port);
        var greedy = new RawStream(cluster.node(0).port)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      honest.greet(cluster.node(0).id);
      greedy.greet(cluster.node(0).id);
      greedy.send(RawStream.requests(ledger.range, 1, false, 64 * KIB, 1));

      assertThat(greedy.awaitEnd().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
      honest.send(RawStream.requests(ledger.range, 1, false, 60 * KIB, 2));
      honest.read(1);
      assertThat(honest.awaitReplies(1).getFirst().outcome()).isInstanceOf(RangeReply.Done.class);
      assertThat(cluster.applied(ledger)).containsExactly(2L);
    }
  }

  @Test
  void anotherNodeAtTheAddressIsDetected() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var lost = new RawStream(cluster.node(0).port)) {
      lost.send(RawStream.hello(new UUID(9, 9)));

      assertThat(lost.awaitEnd().getCode()).isEqualTo(Status.Code.FAILED_PRECONDITION);
    }
  }

  @Test
  void aNumberInUseEndsTheStream() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new RawStream(cluster.node(0).port)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      cluster.node(0).hold();
      caller.send(RawStream.hello(cluster.node(0).id));
      caller.send(RawStream.requests(ledger.range, 1, false, 8, 5));
      caller.send(RawStream.requests(ledger.range, 1, false, 8, 5));

      assertThat(caller.awaitEnd().getDescription()).contains("number 5 is in use");
    }
  }

  @Test
  void aStreamIsNotReadFromWhileItsWindowIsFull() throws Exception {
    var settings = new RangeServiceSettings(10, 100, 64 * KIB, 128 * KIB, 64 * KIB, Duration.ofSeconds(5));
    try (var cluster = LedgerCluster.start(1, settings, null);
        var caller = new RawStream(cluster.node(0).port)) {
      var node = cluster.node(0);
      var ledger = cluster.ledger(1, node);
      node.hold();
      caller.greet(node.id);
      for (int i = 0; i < 100; i++) caller.send(RawStream.requests(ledger.range, 1, false, 8, LongStream.range(10L * i, 10L * i + 10).toArray()));
      await().atMost(LONG).until(() -> node.meters.counter("dunlin.store.service.pauses").count() == 1);

      assertThat(node.waiting()).isEqualTo(100);
      node.release();
      caller.read(1000);
      assertThat(caller.awaitReplies(1000)).hasSize(1000);
      assertThat(node.takenMost).isLessThanOrEqualTo(110);
    }
  }

  @Test
  void aCallerThatReadsNoRepliesCannotSendMore() throws Exception {
    var settings = new RangeServiceSettings(10, 100, 64 * KIB, 128 * KIB, 64 * KIB, Duration.ofSeconds(5));
    try (var cluster = LedgerCluster.start(1, settings, null);
        var deaf = new RawStream(cluster.node(0).port);
        var caller = new RawStream(cluster.node(0).port)) {
      var node = cluster.node(0);
      var ledger = cluster.ledger(1, node);
      caller.greet(node.id);
      deaf.greet(node.id);
      // Replies of 3 MB, more than HTTP/2's windows.
      var frame = new long[100];
      for (int i = 0; i < 2000; i++) {
        for (int k = 0; k < frame.length; k++) frame[k] = 100L * i + k;
        deaf.send(RawStream.requests(ledger.range, 1, false, 8, frame));
      }
      var outstanding = node.meters.get("dunlin.store.service.outstanding").gauge();
      await().during(Duration.ofMillis(500)).atMost(LONG).until(() -> outstanding.value() >= 100);
      assertThat(cluster.applied(ledger)).hasSizeLessThan(200_000);
      caller.send(RawStream.requests(ledger.range, 1, false, 8, 1_000_000));
      caller.read(1);

      assertThat(caller.awaitReplies(1)).hasSize(1);
      deaf.read(1_000_000);
      assertThat(deaf.awaitReplies(200_000)).hasSize(200_000);
    }
  }

  @Test
  void bytesOfAllStreamsTogetherAreBounded() throws Exception {
    var settings = new RangeServiceSettings(10, 100, 64 * KIB, 64 * KIB, 64 * KIB, Duration.ofSeconds(5));
    try (var cluster = LedgerCluster.start(1, settings, null);
        var one = new RawStream(cluster.node(0).port);
        var other = new RawStream(cluster.node(0).port)) {
      var node = cluster.node(0);
      var ledger = cluster.ledger(1, node);
      node.hold();
      one.greet(node.id);
      other.greet(node.id);
      one.send(RawStream.requests(ledger.range, 1, false, 40 * KIB, 1));
      await().atMost(LONG).until(() -> node.waiting() == 1);
      other.send(RawStream.requests(ledger.range, 1, false, 40 * KIB, 2));
      other.read(1);

      assertThat(other.awaitReplies(1).getFirst().outcome()).isEqualTo(new RangeReply.Overloaded());
      node.release();
      one.read(1);
      one.awaitReplies(1);
      other.send(RawStream.requests(ledger.range, 1, false, 40 * KIB, 3));
      other.read(1);
      assertThat(other.awaitReplies(2).getLast().outcome()).isInstanceOf(RangeReply.Done.class);
    }
  }

  @Test
  void aStreamWithoutAHelloIsClosed() throws Exception {
    var clock = new AtomicLong(1);
    try (var cluster = LedgerCluster.start(1);
        var service =
            RangeService.start(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), cluster.node(0).id, cluster.node(0), cluster.node(0),
                RangeServiceSettings.defaults(), null, new SimpleMeterRegistry(), clock::get);
        var mute = new RawStream(service.port());
        var greeting = new RawStream(service.port())) {
      greeting.greet(cluster.node(0).id);
      mute.awaitOpen();
      clock.addAndGet(Duration.ofSeconds(11).toNanos());

      assertThat(mute.awaitEnd().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
      assertThat(greeting.open()).isTrue();
    }
  }

  @Test
  void withoutTlsItIsOpenBeyondLoopbackOnlyWhereThatIsAllowed() {
    var everywhere = new InetSocketAddress("0.0.0.0", 0);
    var some = RangeServiceSettings.defaults();
    var allowed =
        new RangeServiceSettings(
            some.streamsMax(), some.requestsMax(), some.bytesMax(), some.nodeBytesMax(), some.frameBytesMax(), some.closeTimeout(), true);
    try (var cluster = LedgerCluster.start(1)) {
      var node = cluster.node(0);
      assertThatThrownBy(
              () -> RangeService.start(everywhere, node.id, node, node, some, null, new SimpleMeterRegistry(), System::nanoTime))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("would be open without TLS on")
          .hasMessageContaining("dunlin.cluster.plaintext");
      RangeService.start(everywhere, node.id, node, node, allowed, null, new SimpleMeterRegistry(), System::nanoTime).close();
    }
  }

  @Test
  void streamsAreBounded() throws Exception {
    var settings = new RangeServiceSettings(2, 100, 64 * KIB, 64 * KIB, 64 * KIB, Duration.ofSeconds(5));
    try (var cluster = LedgerCluster.start(1, settings, null);
        var one = new RawStream(cluster.node(0).port)) {
      one.greet(cluster.node(0).id);
      try (var other = new RawStream(cluster.node(0).port)) {
        other.greet(cluster.node(0).id);
        try (var third = new RawStream(cluster.node(0).port)) {
          assertThat(third.awaitEnd().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        }
        assertThat(cluster.node(0).meters.counter("dunlin.store.service.streams.refused").count()).isEqualTo(1);
      }
      await().atMost(LONG).until(() -> cluster.node(0).meters.get("dunlin.store.service.streams").gauge().value() == 1);
      try (var fourth = new RawStream(cluster.node(0).port)) {
        fourth.greet(cluster.node(0).id);
      }
    }
  }

  @Test
  void inAnOrderedFrameNothingOvertakesARefusedRequest() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new RawStream(cluster.node(0).port)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      cluster.change(ledger, some -> some.refuseOverloaded = 1);
      caller.greet(cluster.node(0).id);
      caller.send(RawStream.requests(ledger.range, 1, true, 8, 1, 2, 3));
      caller.read(10);

      assertThat(caller.awaitReplies(3)).extracting(Frames.Reply::outcome).containsOnly(new RangeReply.Overloaded());
      assertThat(cluster.applied(ledger)).isEmpty();
    }
  }

  @Test
  void requestsPastTheirDeadlineReleaseTheirPlace() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new RawStream(cluster.node(0).port)) {
      var node = cluster.node(0);
      var ledger = cluster.ledger(1, node);
      node.hold();
      caller.greet(node.id);
      var frame = new byte[Frames.REQUESTS_HEADER_BYTES + 2 * (Frames.REQUEST_HEADER_BYTES + 8)];
      var out = ByteBuffer.wrap(frame);
      Frames.beginRequests(out, ledger.range, 1, false, 2);
      Frames.appendRequest(out, 1, Frames.Kind.COMMAND, 1, new byte[8]);
      Frames.appendRequest(out, 2, Frames.Kind.COMMAND, 0, new byte[8]);
      caller.send(frame);
      caller.read(10);

      var replies = caller.awaitReplies(2);
      assertThat(replies).filteredOn(reply -> reply.number() == 2).extracting(Frames.Reply::outcome).containsExactly(new RangeReply.Expired());
      assertThat(replies).filteredOn(reply -> reply.number() == 1).extracting(Frames.Reply::outcome).hasOnlyElementsOfType(RangeReply.Unknown.class);
      await().atMost(LONG).until(() -> node.meters.get("dunlin.store.service.outstanding").gauge().value() == 0);
      assertThat(node.meters.get("dunlin.store.service.outstanding.bytes").gauge().value()).isZero();
    }
  }

  @Test
  void aClosingServiceWaitsForPendingRequestsAndRefusesNewOnes() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new RawStream(cluster.node(0).port)) {
      var node = cluster.node(0);
      var ledger = cluster.ledger(1, node);
      node.hold();
      caller.greet(node.id);
      caller.send(RawStream.requests(ledger.range, 1, false, 8, 1));
      await().atMost(LONG).until(() -> node.waiting() == 1);
      var closing = Thread.ofVirtual().start(() -> node.service().close());
      await().atMost(LONG).until(() -> node.service().closing());
      caller.send(RawStream.requests(ledger.range, 1, false, 8, 2));
      caller.read(10);

      assertThat(caller.awaitReplies(1).getFirst().outcome()).isInstanceOf(RangeReply.Unavailable.class);
      node.release();
      assertThat(caller.awaitReplies(2).getLast().outcome()).isInstanceOf(RangeReply.Done.class);
      assertThat(caller.awaitEnd().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(closing.join(LONG)).isTrue();
    }
  }

  @Test
  void aClosingServiceAnswersUnknownForRequestsThatDoNotEnd() throws Exception {
    var settings = new RangeServiceSettings(10, 100, 64 * KIB, 64 * KIB, 64 * KIB, Duration.ofMillis(10));
    try (var cluster = LedgerCluster.start(1, settings, null);
        var caller = new RawStream(cluster.node(0).port)) {
      var node = cluster.node(0);
      var ledger = cluster.ledger(1, node);
      node.hold();
      caller.greet(node.id);
      caller.read(10);
      caller.send(RawStream.requests(ledger.range, 1, false, 8, 1));
      await().atMost(LONG).until(() -> node.waiting() == 1);
      node.service().close();

      assertThat(caller.awaitReplies(1).getFirst().outcome()).isInstanceOf(RangeReply.Unknown.class);
      assertThat(caller.awaitEnd().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    }
  }
}
