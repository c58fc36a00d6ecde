package dunlin.transport.call;

import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What callers and a tier have agreed on, beside the calls themselves: how a call fails.
 *
 * @param name with a version; two sides that do not say the same have no link
 * @param tier the side that is called, as sentences name it
 * @param notMade makes the failure of a call that was not made and will not be, from a sentence
 * @param unknown makes the failure of a call that may have been made, or may still be
 * @param isUnknown whether a failure of the tier says that
 * @param kinds other failures that callers tell apart
 */
public record CallProtocol(
    String name,
    String tier,
    Function<String, RuntimeException> notMade,
    Function<String, RuntimeException> unknown,
    Predicate<Throwable> isUnknown,
    Kinds kinds) {
  static final int VALUE = 0;
  private static final int NOT_MADE = 1;
  private static final int UNKNOWN = 2;
  private static final int KIND = 3;
  private static final int SENTENCE_MAX = 1_000;

  /** Failures with more to them than a sentence. */
  public interface Kinds {
    /** Null when it is none of them. */
    byte @Nullable [] encode(Throwable failure);

    RuntimeException decode(byte[] failure) throws MalformedFrameException;

    /** Of tiers that fail with sentences alone. */
    static Kinds none() {
      return new Kinds() {
        @Override
        public byte @Nullable [] encode(Throwable failure) {
          return null;
        }

        @Override
        public RuntimeException decode(byte[] failure) throws MalformedFrameException {
          throw new MalformedFrameException("a kind of failure that nobody knows");
        }
      };
    }
  }

  /** Writes a failure, which begins with another octet than {@link #VALUE}. */
  void write(FrameWriter out, Throwable failure) {
    if (failure instanceof CompletionException && failure.getCause() != null) {
      write(out, failure.getCause());
      return;
    }
    byte @Nullable [] kind = kinds.encode(failure);
    if (kind != null) out.octet(KIND).bytes(kind);
    else out.octet(isUnknown.test(failure) ? UNKNOWN : NOT_MADE).text(sentence(failure));
  }

  private static String sentence(Throwable failure) {
    String message = failure.getMessage();
    if (message == null) return failure.getClass().getSimpleName();
    return message.length() <= SENTENCE_MAX ? message : message.substring(0, SENTENCE_MAX);
  }

  /** Reads a failure behind its octet. */
  RuntimeException read(int octet, FrameReader in) throws MalformedFrameException {
    return switch (octet) {
      case NOT_MADE -> notMade.apply(in.text());
      case UNKNOWN -> unknown.apply(in.text());
      case KIND -> kinds.decode(in.bytes());
      default -> throw new MalformedFrameException("octet " + octet + " of an answer");
    };
  }
}
