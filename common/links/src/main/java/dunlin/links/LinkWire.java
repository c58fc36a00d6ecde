package dunlin.links;

import dunlin.store.grpc.RawBytes;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;

/** The one method of the service, and what a stream says before its first frame. */
final class LinkWire {
  /** Of what links carry: 1. Both sides must have the same. */
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

  /** The id of the node that is called. */
  static final Metadata.Key<String> NODE_KEY = key("dunlin-node");

  /** The id of the node that calls. */
  static final Metadata.Key<String> FROM_KEY = key("dunlin-from");

  /** The name under which the links are accepted there. */
  static final Metadata.Key<String> NAME_KEY = key("dunlin-link");

  /** Larger than any answer of a session tier; beyond, gRPC ends the stream. */
  static final int FRAME_BYTES_MAX = 17 << 20;

  /** Frames of a stream that are handed to the links' thread and not handled. */
  static final int FRAMES_AHEAD = 8;

  private LinkWire() {}

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }
}
