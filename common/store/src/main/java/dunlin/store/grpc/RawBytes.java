package dunlin.store.grpc;

import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** Passes bytes through unparsed: they are decoded where an error can be answered. */
public final class RawBytes implements MethodDescriptor.Marshaller<byte[]> {
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

  /** Tells gRPC its length in advance and is written in one piece. */
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
