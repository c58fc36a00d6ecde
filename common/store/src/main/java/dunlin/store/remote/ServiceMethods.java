package dunlin.store.remote;

import dunlin.store.grpc.RawBytes;
import io.grpc.MethodDescriptor;

/** The methods of the store service. Messages are raw bytes to gRPC. */
final class ServiceMethods {
  static final String SERVICE = "dunlin.store.remote.Ranges";
  static final MethodDescriptor<byte[], byte[]> FRAMES = method("Stream", MethodDescriptor.MethodType.BIDI_STREAMING);
  /** An empty message, answered with an empty one. */
  static final MethodDescriptor<byte[], byte[]> PING = method("Ping", MethodDescriptor.MethodType.UNARY);
  /** Wire.SnapshotRequest, answered with Wire.Snapshot. */
  static final MethodDescriptor<byte[], byte[]> OPEN_SNAPSHOT = method("OpenSnapshot", MethodDescriptor.MethodType.UNARY);
  /** Wire.ChunkRequest, answered with the bytes. */
  static final MethodDescriptor<byte[], byte[]> READ_SNAPSHOT = method("ReadSnapshot", MethodDescriptor.MethodType.UNARY);
  /** Bytes for the node's {@link RangeService.CallHandler}, answered with bytes. */
  static final MethodDescriptor<byte[], byte[]> CALL = method("Call", MethodDescriptor.MethodType.UNARY);

  private ServiceMethods() {}

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodDescriptor.MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
        .setRequestMarshaller(new RawBytes())
        .setResponseMarshaller(new RawBytes())
        .build();
  }
}
