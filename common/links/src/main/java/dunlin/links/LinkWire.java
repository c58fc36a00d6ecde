package dunlin.links;

import dunlin.store.grpc.RawBytes;
import dunlin.store.grpc.ServiceTls;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/** The methods of the services, and the headers of their calls. */
final class LinkWire {
  /** The version of the links' contents. Both sides must have the same. */
  static final String VERSION = "1";

  static final String SERVICE = "dunlin.links.Links";
  static final MethodDescriptor<byte[], byte[]> PIPE =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Pipe"))
          .setRequestMarshaller(new RawBytes())
          .setResponseMarshaller(new RawBytes())
          .build();

  /** A question and its answer. */
  static final String QUESTIONS = "dunlin.links.Questions";

  static final MethodDescriptor<byte[], byte[]> ASK =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(QUESTIONS, "Ask"))
          .setRequestMarshaller(new RawBytes())
          .setResponseMarshaller(new RawBytes())
          .build();

  static final Metadata.Key<String> VERSION_KEY = key("dunlin-version");

  /** The id of the called node. */
  static final Metadata.Key<String> NODE_KEY = key("dunlin-node");

  /** The id of the calling node. */
  static final Metadata.Key<String> FROM_KEY = key("dunlin-from");

  /** The name under which the links are accepted there. */
  static final Metadata.Key<String> NAME_KEY = key("dunlin-link");

  /** Larger than any answer of a session tier; gRPC ends a stream with a larger frame. */
  static final int FRAME_BYTES_MAX = 17 << 20;

  /** The most frames of a stream that may wait for the link's thread. */
  static final int FRAMES_AHEAD = 8;

  /** Of these, so many are asked for at once: each time wakes the thread of the connection. */
  private static final int FRAMES_REQUESTED = FRAMES_AHEAD / 2;

  private static final long KEEP_ALIVE_SECONDS = 10;
  private static final int HTTP_WINDOW_BYTES = 1 << 20;

  private LinkWire() {}

  /**
   * Asks for further frames of a stream when enough were taken.
   *
   * @param taken frames that were taken since it was asked the last time
   * @return the same, afterwards
   */
  static int requestMore(int taken, IntConsumer request) {
    if (taken < FRAMES_REQUESTED) return taken;
    request.accept(taken);
    return 0;
  }

  /**
   * The headers of a call.
   *
   * @param from the id of the calling node
   * @param to the id of the called node
   */
  static Metadata headers(UUID from, UUID to) {
    var headers = new Metadata();
    headers.put(VERSION_KEY, VERSION);
    headers.put(NODE_KEY, to.toString());
    headers.put(FROM_KEY, from.toString());
    return headers;
  }

  /** @param tls null for a connection without TLS */
  static ManagedChannel connect(LinkPeer to, @Nullable ServiceTls tls) {
    var credentials = tls == null ? InsecureChannelCredentials.create() : tls.client();
    return NettyChannelBuilder.forAddress(to.host(), to.port(), credentials)
        .directExecutor()
        .disableRetry()
        .maxInboundMessageSize(FRAME_BYTES_MAX)
        .flowControlWindow(HTTP_WINDOW_BYTES)
        .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .build();
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }
}
