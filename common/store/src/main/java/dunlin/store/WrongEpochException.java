package dunlin.store;

/** The range has another epoch than the caller expects: its keys have changed. Nothing has been done. */
public final class WrongEpochException extends StoreException {
  private final transient RangeDescriptor now;
  private final long asked;

  public WrongEpochException(RangeDescriptor now, long epoch) {
    super("range " + now.id() + " has " + now.keys() + " and epoch " + now.epoch() + ", not " + epoch);
    this.now = now;
    this.asked = epoch;
  }

  /** As bytes, for {@link #parse}. */
  public byte[] toBytes() {
    return FieldWriter.bytesOf(
        out -> {
          out.number(asked);
          now.writeTo(out);
        });
  }

  /** @throws IllegalStateException when they are not such bytes */
  public static WrongEpochException parse(byte[] bytes) {
    return FieldReader.read(
        bytes,
        in -> {
          long asked = in.number();
          return new WrongEpochException(RangeDescriptor.readFrom(in), asked);
        });
  }

  /** The epoch that the caller expected. */
  public long asked() {
    return asked;
  }

  /** The range's current descriptor. */
  public RangeDescriptor now() {
    return now;
  }
}
