package dunlin.chaos;

import java.util.List;

/** All that the callers of one trial have done. */
record History(List<Operation> operations, List<Read> reads) {
  History {
    operations = List.copyOf(operations);
    reads = List.copyOf(reads);
  }
}
