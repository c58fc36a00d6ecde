package dunlin.broker;

import java.util.Arrays;

/**
 * Decisions that are derived from the input of a fuzzer, byte by byte; after its end, always the first possibility.
 */
public final class Choices {
  private final byte[] input;
  private int at;

  public Choices(byte[] input) {
    this.input = input;
  }

  public boolean more() {
    return at < input.length;
  }

  /** A number from 0 to {@code count - 1}. */
  public int below(int count) {
    return at < input.length ? (input[at++] & 0xFF) % count : 0;
  }

  @SafeVarargs
  public final <T> T of(T... possibilities) {
    return possibilities[below(possibilities.length)];
  }

  public boolean yes() {
    return below(2) == 1;
  }

  /** The next bytes, up to {@code count}. */
  public byte[] bytes(int count) {
    int from = at;
    at = Math.min(input.length, at + count);
    return Arrays.copyOfRange(input, from, at);
  }
}
