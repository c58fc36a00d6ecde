package dunlin.chaos;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** An ext4 file system of its own for one node, in a file: it can be full, and lose power. */
public final class LoopDisk implements AutoCloseable {
  /*
   * Owner: the thread of the trial.
   * Failure: mounted in a mount namespace that ends with the harness, so that a harness that is killed leaves no mount.
   */
  private static final long BYTES = 256L * 1024 * 1024;
  private static final String FILLER = "dlchaos.filler";

  private final Path image;
  private final Path directory;
  private final Path powercut;
  private boolean mounted;

  /** @param powercut the program of src/main/c/powercut.c */
  public LoopDisk(Path image, Path directory, Path powercut) {
    this.image = image;
    this.directory = directory;
    this.powercut = powercut;
    try (var file = new RandomAccessFile(image.toFile(), "rw")) {
      file.setLength(BYTES);
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Programs.run("mkfs.ext4", "-q", "-F", "-m", "0", image.toString());
    mount();
  }

  /** Where a node may have its data directory; not the root of the file system, for lost+found is there. */
  public Path data() {
    return directory.resolve("data");
  }

  private void mount() {
    Programs.run("mount", "-o", "loop", image.toString(), directory.toString());
    mounted = true;
  }

  /** What was not yet written to the disk never will be, and every access fails from now on. */
  public void cutPower() {
    Programs.run(powercut.toString(), directory.toString());
  }

  /** What is on the disk when the power has come back; nothing may have files open there. */
  public void restorePower() {
    unmount();
    mount();
  }

  private void unmount() {
    if (!mounted) return;
    // A process that was killed may still be letting its files go.
    Cluster.await(
        "unmount " + directory,
        Duration.ofSeconds(20),
        () -> {
          try {
            Programs.run("umount", directory.toString());
            return Optional.of(true);
          } catch (TrialException e) {
            return Optional.empty();
          }
        });
    mounted = false;
  }

  /** Fills the disk until so many bytes are left. */
  public void fill(long left) {
    long more = directory.toFile().getUsableSpace() - left;
    if (more <= 0) return;
    Path filler = directory.resolve(FILLER);
    long already = filler.toFile().length();
    try {
      Programs.run("fallocate", "-l", String.valueOf(already + more), filler.toString());
    } catch (TrialException e) {
      // Others write meanwhile: then it is full, which was wanted.
    }
  }

  public void empty() {
    try {
      Files.deleteIfExists(directory.resolve(FILLER));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    try {
      unmount();
      Files.deleteIfExists(image);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
