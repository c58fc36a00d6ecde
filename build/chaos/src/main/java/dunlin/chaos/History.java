package dunlin.chaos;

import java.util.List;

/** All operations of one trial's callers. */
record History(List<Operation> operations, List<Read> reads) {
  History {
    operations = List.copyOf(operations);
    reads = List.copyOf(reads);
  }
}
