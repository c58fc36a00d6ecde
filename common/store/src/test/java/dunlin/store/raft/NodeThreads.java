package dunlin.store.raft;

import java.util.Arrays;
import java.util.UUID;
import java.util.stream.Collectors;

/** What the threads of one of several nodes in this process do, for the messages of tests that waited for it in vain. */
public final class NodeThreads {
  private NodeThreads() {}

  /** The stacks of the threads whose names have the node's id, as most of the store's and of Ratis' have. */
  public static String of(UUID node) {
    String id = node.toString().substring(0, 8);
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(one -> one.getKey().getName().contains(id))
        .map(one -> one.getKey().getName() + " " + one.getKey().getState() + "\n  " + Arrays.stream(one.getValue()).map(Object::toString).collect(Collectors.joining("\n  ")))
        .collect(Collectors.joining("\n"));
  }
}
