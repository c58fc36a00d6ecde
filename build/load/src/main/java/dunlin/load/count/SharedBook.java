package dunlin.load.count;

import java.util.function.ToLongFunction;

/** The messages of each stream that the members of a shared group have received together. */
public final class SharedBook extends GroupBook {
  /*
   * Owner: none; members on several event loops add messages. Each stream belongs to one of STRIPES locks, which is
   * held for a look-up in a hash table: contention is rare and lasts nanoseconds.
   */
  private static final int STRIPES = 64;

  private final Book[] stripes = new Book[STRIPES];

  public SharedBook(Budget budget) {
    for (int i = 0; i < STRIPES; i++) stripes[i] = new Book(budget);
  }

  @Override
  public Arrival receive(long key, long sequence) {
    Book book = stripes[(int) key & (STRIPES - 1)];
    synchronized (book) {
      return book.receive(key, sequence);
    }
  }

  /** Reads the stripe of a stream. */
  public long read(long key, ToLongFunction<Book> reader) {
    Book book = stripes[(int) key & (STRIPES - 1)];
    synchronized (book) {
      return reader.applyAsLong(book);
    }
  }

  /** Adds up over all stripes. */
  public long sum(ToLongFunction<Book> reader) {
    long sum = 0;
    for (Book book : stripes) {
      synchronized (book) {
        sum += reader.applyAsLong(book);
      }
    }
    return sum;
  }
}
