package dunlin.links;

import dunlin.store.grpc.RawBytes;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;

/** The method of the service, and the headers of a stream. */
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

  private LinkWire() {}

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }
}
