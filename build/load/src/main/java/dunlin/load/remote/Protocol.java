package dunlin.load.remote;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dunlin.load.remote.wire.Wire;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The protocol of directors and workers. */
final class Protocol {
  /** Incremented by incompatible changes; both sides must have the same version. */
  static final int VERSION = 2;

  /** The limit of one message. */
  static final int MESSAGE_BYTES_MAX = 4_000_000;

  /** The size at which long content is divided into several messages. */
  static final int CHUNK_BYTES = 256_000;

  static final String SERVICE = "dunlin.load.Worker";
  static final MethodDescriptor<Wire.FromDirector, Wire.FromWorker> RUN =
      MethodDescriptor.<Wire.FromDirector, Wire.FromWorker>newBuilder()
          .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Run"))
          .setRequestMarshaller(new Marshaller<>(Wire.FromDirector.parser()))
          .setResponseMarshaller(new Marshaller<>(Wire.FromWorker.parser()))
          .build();

  private Protocol() {}

  private record Marshaller<T extends MessageLite>(Parser<T> parser) implements MethodDescriptor.Marshaller<T> {
    @Override
    public InputStream stream(T message) {
      return new ByteArrayInputStream(message.toByteArray());
    }

    @Override
    public T parse(InputStream stream) {
      try {
        return parser.parseFrom(stream.readAllBytes());
      } catch (InvalidProtocolBufferException wrong) {
        throw Status.INVALID_ARGUMENT.withDescription("a message cannot be read").withCause(wrong).asRuntimeException();
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }
}
