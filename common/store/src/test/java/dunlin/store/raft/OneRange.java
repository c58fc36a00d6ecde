package dunlin.store.raft;

import dunlin.store.Completion;
import dunlin.store.RangeReader;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.GroupStorage;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A started store with one range of {@link Command}s, and blocking calls to it. */
public final class OneRange implements AutoCloseable {
  /** Long, since it only ends tests that hang, even on a busy machine. */
  public static final Duration DEADLINE = Duration.ofMinutes(2);

  final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  final Command.Logic logic = new Command.Logic();
  final RangeStore store;
  public final Replica<Command, String> range;

  private final long openedNanos = System.nanoTime();
  private long passedNanos;

  private OneRange(Path directory, StoreSettings settings, DiskSpace.@Nullable Source stepped) {
    store =
        stepped == null ? RangeStore.open(settings, directory, meters) : RangeStore.openStepped(settings, directory, meters, stepped);
    range = store.range("routes", Command.CODEC, logic);
    try {
      store.start(DEADLINE);
    } catch (StoreException e) {
      close();
      throw e;
    }
  }

  public static OneRange start(Path directory) {
    return start(directory, StoreSettings.defaults());
  }

  public static OneRange start(Path directory, StoreSettings settings) {
    return new OneRange(directory, settings, null);
  }

  /** A store whose maintenance runs only by {@link #maintain}. */
  static OneRange stepped(Path directory, StoreSettings settings) {
    return stepped(directory, settings, new RoomyDisk());
  }

  static OneRange stepped(Path directory, StoreSettings settings, DiskSpace.Source disk) {
    return new OneRange(directory, settings, disk);
  }

  /** Runs the maintenance after this much more time. */
  void maintain(Duration later) {
    passedNanos += later.toNanos();
    store.maintain(openedNanos + passedNanos);
  }

  public CompletableFuture<String> propose(Command command) {
    var result = new CompletableFuture<String>();
    if (!range.propose(command, completing(result))) throw new IllegalStateException("the queue is full");
    return result;
  }

  public String apply(Command command) {
    try {
      return propose(command).get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("not applied: " + command, e);
    }
  }

  /** A disk whose free space the test sets. */
  public static final class RoomyDisk implements DiskSpace.Source {
    public volatile long free = Long.MAX_VALUE / 2;

    @Override
    public long free() {
      return free;
    }

    @Override
    public long total() {
      return Long.MAX_VALUE;
    }
  }

  /** All rows as readers see them. */
  List<String> rows() {
    return read(
        reader -> {
          var rows = new ArrayList<String>();
          reader.scan(new byte[0], null, (key, value) -> rows.add(Command.text(key) + "=" + Command.text(value)));
          return rows;
        });
  }

  /** The value of one row as readers see it, or "none". */
  public String value(String key) {
    return read(
        reader -> {
          byte[] value = reader.get(Command.bytes(key));
          return value == null ? "none" : Command.text(value);
        });
  }

  <T> T read(Function<RangeReader, T> task) {
    try {
      return CompletableFuture.supplyAsync(() -> task.apply(range.reader()), range.readers())
          .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("not read", e);
    }
  }

  @Override
  public void close() {
    close(store);
  }

  /** Closes a store and waits until its directory is free: on a busy machine, longer than its close() waits. */
  static void close(RangeStore store) {
    store.close();
    store.released().orTimeout(DEADLINE.toSeconds(), TimeUnit.SECONDS).join();
  }

  static Completion<String> completing(CompletableFuture<String> result) {
    return new Completion<>() {
      @Override
      public void done(String value) {
        if (!result.complete(value)) throw new AssertionError("completed twice");
      }

      @Override
      public void failed(StoreException failure) {
        if (!result.completeExceptionally(failure)) throw new AssertionError("completed twice");
      }
    };
  }

  /**
   * Copies the directory of a running store: the state after a crash at this moment, provided that no command is
   * pending. Repeats the copy when files have changed in between, since a crash never leaves a mixture.
   */
  public static void copy(Path from, Path to) throws IOException {
    long begun = System.nanoTime();
    while (!copiedAtRest(from, to)) {
      if (System.nanoTime() - begun > DEADLINE.toNanos()) throw new AssertionError("the files in " + from + " do not come to rest");
      GroupStorage.deleteTree(to);
    }
  }

  private static boolean copiedAtRest(Path from, Path to) throws IOException {
    Files.createDirectories(to);
    try {
      var before = lengthsAndTimes(from);
      for (var file : before.keySet()) {
        Path copied = to.resolve(from.relativize(file));
        Files.createDirectories(copied.getParent());
        Files.copy(file, copied);
      }
      return lengthsAndTimes(from).equals(before);
    } catch (NoSuchFileException e) {
      return false; // deleted in between
    }
  }

  private static Map<Path, String> lengthsAndTimes(Path directory) throws IOException {
    var files = new HashMap<Path, String>();
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            files.put(file, attributes.size() + " bytes of " + attributes.lastModifiedTime());
            return FileVisitResult.CONTINUE;
          }
        });
    return files;
  }
}
