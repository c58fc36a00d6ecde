package dunlin.transport.call;

/**
 * What a caller may have on its way. The side that is called ends a link that goes beyond its own, so these are to be no smaller than those of its
 * callers.
 *
 * @param callsMax calls without an answer, from 1
 * @param bytesMax bytes of these, and 64 for each, from 1
 * @param answersMax bytes that answers may have which are large, from 1; not more than half of what the link takes
 */
public record CallBounds(int callsMax, long bytesMax, long answersMax) {
  /** What a call counts for beside its bytes. */
  private static final int CALL_BYTES = 64;

  public CallBounds {
    if (callsMax < 1) throw new IllegalArgumentException("callsMax " + callsMax);
    if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
    if (answersMax < 1) throw new IllegalArgumentException("answersMax " + answersMax);
  }

  /** 65,536 calls, 32 MiB of them, 32 MiB of large answers. */
  public static CallBounds defaults() {
    return new CallBounds(65_536, 32L << 20, 32L << 20);
  }

  static int sizeOf(byte[] call) {
    return call.length + CALL_BYTES;
  }
}
