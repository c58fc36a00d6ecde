package dunlin.store.remote;

import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** The methods of the store service. gRPC passes on the bytes of each message as they are. */
final class ServiceMethods {
  static final String SERVICE = "dunlin.store.remote.Ranges";
  static final MethodDescriptor<byte[], byte[]> FRAMES = method("Stream", MethodDescriptor.MethodType.BIDI_STREAMING);
  /** No bytes, answered with none: a sign of life. */
  static final MethodDescriptor<byte[], byte[]> PING = method("Ping", MethodDescriptor.MethodType.UNARY);
  /** Wire.CheckpointRequest, answered with Wire.Checkpoint. */
  static final MethodDescriptor<byte[], byte[]> OPEN_CHECKPOINT = method("OpenCheckpoint", MethodDescriptor.MethodType.UNARY);
  /** Wire.ChunkRequest, answered with the bytes. */
  static final MethodDescriptor<byte[], byte[]> READ_CHECKPOINT = method("ReadCheckpoint", MethodDescriptor.MethodType.UNARY);
  /** Bytes for the handler of calls on the node, answered with bytes. */
  static final MethodDescriptor<byte[], byte[]> CALL = method("Call", MethodDescriptor.MethodType.UNARY);

  private ServiceMethods() {}

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodDescriptor.MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
        .setRequestMarshaller(new Raw())
        .setResponseMarshaller(new Raw())
        .build();
  }

  /** Bytes as they are: what they mean is read where a failure can be answered. */
  private static final class Raw implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] frame) {
      return new Frame(frame);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        if (!(stream instanceof KnownLength)) return stream.readAllBytes();
        var frame = new byte[stream.available()];
        int read = stream.readNBytes(frame, 0, frame.length);
        assert read == frame.length && stream.read() < 0 : "a frame is not as long as it says";
        return frame;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Tells gRPC its length beforehand and is written in one piece. */
  private static final class Frame extends ByteArrayInputStream implements KnownLength, Drainable {
    Frame(byte[] frame) {
      super(frame);
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      int length = available();
      target.write(buf, pos, length);
      pos += length;
      return length;
    }
  }
}
