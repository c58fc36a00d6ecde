package dunlin.store.remote;

import com.google.protobuf.ByteString;
import dunlin.store.remote.wire.Wire;
import dunlin.store.serve.RangeReply;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One stream to a node, on a connection of its own. It is opened once; after its end there is a new one. */
final class LinkStream extends ClientCall.Listener<byte[]> {
  /*
   * Owner: the client's thread. gRPC's callbacks on its event loops are passed on to that thread.
   * Bounds: the window that the node's welcome grants. Replies are requested a few frames at a time.
   * Failure: a request is sent only after the welcome, so before that surely nothing was done. A node that is silent
   * for long gets a ping outside of the stream, which may be blocked by a slow disk; gRPC itself pings on an idle
   * connection, at most every 10 s. Without an answer the stream ends.
   */
  private static final int FRAMES_AHEAD = 4;
  private static final int HTTP_WINDOW_BYTES = 1024 * 1024;

  private final RangeClient client;
  private final NodeLink link;
  private final ManagedChannel channel;
  private final ClientCall<byte[], byte[]> call;
  private final long openedNanos;
  private final Map<Long, RemoteCall> underWay = new HashMap<>();

  private Wire.@Nullable Welcome welcome;
  private long underWayBytes;
  private long nextNumber = 1;
  private long heardNanos; // when the node last answered, or began to owe a reply
  private boolean pinged;
  private boolean ended;

  private LinkStream(RangeClient client, NodeLink link, ManagedChannel channel, long now) {
    this.client = client;
    this.link = link;
    this.channel = channel;
    openedNanos = now;
    heardNanos = now;
    call = channel.newCall(ServiceMethods.FRAMES, CallOptions.DEFAULT);
  }

  static LinkStream open(RangeClient client, NodeLink link, long now) {
    var settings = client.settings();
    var peer = link.peer();
    var credentials = client.tls() == null ? InsecureChannelCredentials.create() : client.tls().client();
    var channel =
        NettyChannelBuilder.forAddress(peer.host(), peer.port(), credentials)
            .directExecutor()
            .disableRetry()
            .maxInboundMessageSize(client.replyFrameBytesMax())
            .flowControlWindow(HTTP_WINDOW_BYTES)
            .keepAliveTime(settings.silence().keepAlive().toMillis(), TimeUnit.MILLISECONDS)
            .keepAliveTimeout(settings.silence().keepAlive().toMillis(), TimeUnit.MILLISECONDS)
            .build();
    var stream = new LinkStream(client, link, channel, now);
    stream.call.start(stream, new Metadata());
    stream.call.request(FRAMES_AHEAD);
    var hello =
        Wire.Hello.newBuilder()
            .setVersion(Frames.VERSION)
            .setCaller(client.name())
            .setNode(ByteString.copyFrom(Locations.bytes(peer.node())))
            .setFrameBytesMax(client.replyFrameBytesMax());
    stream.call.sendMessage(Frames.control(Frames.HELLO, hello.build()));
    return stream;
  }

  @Override
  public void onMessage(byte[] frame) {
    client.execute(() -> received(frame));
  }

  @Override
  public void onReady() {
    client.execute(() -> {}); // triggers a round, which sends
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    client.execute(() -> ended(status));
  }

  boolean overdue(long now) {
    return welcome == null && now - openedNanos > client.settings().silence().connectTimeout().toNanos();
  }

  boolean waiting() {
    return welcome == null || !underWay.isEmpty();
  }

  /** Whether a frame can be sent now. */
  boolean writable() {
    return welcome != null
        && !ended
        && underWay.size() < welcome.getRequestsMax()
        && underWayBytes < welcome.getBytesMax()
        && call.isReady();
  }

  boolean stalled(long now) {
    return !ended && !underWay.isEmpty() && now - heardNanos > client.settings().silence().stallAfter().toNanos();
  }

  /** The calls in flight at a node that is silent. The next suspicion is only raised after the same time. */
  List<RemoteCall> suspected(long now) {
    heardNanos = now;
    return ofThisStream();
  }

  /** Pings the node; without an answer in time, the outcome of the calls in flight is unknown. */
  void ping() {
    if (pinged || ended) return;
    pinged = true;
    long millis = client.settings().silence().keepAlive().toMillis();
    var ping = channel.newCall(ServiceMethods.PING, CallOptions.DEFAULT.withDeadlineAfter(millis, TimeUnit.MILLISECONDS));
    ping.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            client.execute(() -> answered(status));
          }
        },
        new Metadata());
    ping.request(2); // one message, and proof that there is no second one
    ping.sendMessage(new byte[0]);
    ping.halfClose();
  }

  /** Every answer is a sign of life, a refusal too. */
  private void answered(Status ping) {
    pinged = false;
    boolean missed = ping.getCode() == Status.Code.DEADLINE_EXCEEDED;
    client.meters().pinged(!missed);
    if (missed) end(Status.UNAVAILABLE.withDescription("no sign of life"));
  }

  /** Sends one frame with calls from the source: calls of one epoch, as many as fit. */
  void send(Source source, long now) {
    var granted = welcome;
    assert granted != null : "sent before the welcome";
    var settings = client.settings();
    var calls = new ArrayList<RemoteCall>();
    int bytes = Frames.REQUESTS_HEADER_BYTES;
    int most = Math.min(settings.frames().requestsMax(), granted.getRequestsMax() - underWay.size());
    for (RemoteCall next; calls.size() < most && (next = source.peek()) != null; ) {
      if (Frames.REQUESTS_HEADER_BYTES + next.frameBytes() > granted.getFrameBytesMax()) {
        source.waiting.remove();
        client.fail(next, "node " + link.peer().node() + " accepts no command of " + next.command.length + " bytes");
        continue;
      }
      boolean fits = bytes + next.frameBytes() <= Math.min(settings.frames().fullAt(), granted.getFrameBytesMax());
      if (!calls.isEmpty() && (!fits || next.epoch != calls.getFirst().epoch)) break;
      source.waiting.remove();
      calls.add(next);
      bytes += next.frameBytes();
    }
    if (calls.isEmpty()) return;
    if (underWay.isEmpty()) heardNanos = now;
    var frame = new byte[bytes];
    var out = ByteBuffer.wrap(frame);
    Frames.beginRequests(out, source.route.range, calls.getFirst().epoch, source.ordered, calls.size());
    for (var next : calls) {
      if (source.ordered) {
        link.assign(next);
        source.underWay++;
      }
      next.stream = this;
      next.number = nextNumber++;
      underWay.put(next.number, next);
      underWayBytes += next.command.length;
      Frames.appendRequest(out, next.number, next.kind, millisLeft(next, now), next.command);
    }
    call.sendMessage(frame);
  }

  private static int millisLeft(RemoteCall call, long now) {
    return Math.clamp((call.deadlineNanos - now) / 1_000_000, 0, Integer.MAX_VALUE);
  }

  /** Closes the stream from our side, if it is still open. */
  void end(Status status) {
    if (ended) return;
    call.cancel(status.getDescription(), null);
    ended(status);
  }

  private void received(byte[] frame) {
    if (ended) return;
    try {
      switch (Frames.kind(frame)) {
        case Frames.WELCOME -> welcome(Frames.welcome(frame));
        case Frames.REPLIES -> {
          for (var reply : Frames.replies(frame)) answered(reply.number(), reply.outcome());
          heardNanos = client.now();
          link.heard();
        }
        default -> throw new FrameException("frame of kind " + frame[0] + " from a node");
      }
      if (!ended) call.request(1);
    } catch (FrameException e) {
      end(Status.INTERNAL.withDescription(e.getMessage()));
    }
  }

  private void welcome(Wire.Welcome granted) {
    if (welcome != null || granted.getRequestsMax() < 1 || granted.getBytesMax() < 1 || granted.getFrameBytesMax() < 1)
      throw new FrameException("welcome that grants nothing, or a second one");
    welcome = granted;
    link.welcomed();
  }

  private void answered(long number, RangeReply reply) {
    var answered = underWay.remove(number);
    if (answered == null) throw new FrameException("reply to a request that was not sent");
    underWayBytes -= answered.command.length;
    if (answered.ended) return;
    boolean current = answered.stream == this && answered.number == number;
    // After an attempt was abandoned, only its success still counts.
    if (current || reply instanceof RangeReply.Done) client.answered(answered, link.peer().node(), reply);
  }

  private void ended(Status status) {
    if (ended) return;
    ended = true;
    channel.shutdownNow();
    var calls = ofThisStream();
    underWay.clear();
    link.ended(this, status, calls, client.now());
  }

  private List<RemoteCall> ofThisStream() {
    var calls = new ArrayList<RemoteCall>();
    underWay.forEach(
        (number, call) -> {
          if (!call.ended && call.stream == this && call.number == number) calls.add(call);
        });
    calls.sort((one, other) -> Long.compare(one.number, other.number));
    return calls;
  }
}
