package dunlin.chaos.history;

import java.util.List;

/** All operations of one trial's callers. */
public record History(List<Operation> operations, List<Read> reads) {
  public History {
    operations = List.copyOf(operations);
    reads = List.copyOf(reads);
  }
}
