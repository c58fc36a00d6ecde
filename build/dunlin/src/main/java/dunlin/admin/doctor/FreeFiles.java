package dunlin.admin.doctor;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How many more files a file system takes. The JDK does not say it, so the C library is asked: statvfs, whose structure is the same on all 64-bit Linux systems.
 *
 * @param all 0 when it has no fixed number
 */
record FreeFiles(long all, long free) {
  private static final long STRUCTURE_BYTES = 256;
  private static final long ALIGNMENT = 8;
  private static final long FILES_OFFSET = 40;
  private static final long FREE_OFFSET = 56;

  /** @throws IOException when it cannot be said here, with the reason */
  static FreeFiles of(Path directory) throws IOException {
    if (!System.getProperty("os.name", "").equals("Linux") || ValueLayout.ADDRESS.byteSize() != ALIGNMENT) throw new IOException("this is no 64-bit Linux");
    if (!FreeFiles.class.getModule().isNativeAccessEnabled()) throw new IOException("the process runs without --enable-native-access");
    if (!Files.isDirectory(directory)) throw new IOException("there is no directory " + directory);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment structure = arena.allocate(STRUCTURE_BYTES, ALIGNMENT);
      int result = (int) statvfs().invokeExact(arena.allocateFrom(directory.toString()), structure);
      if (result != 0) throw new IOException("the system refuses it");
      return new FreeFiles(structure.get(ValueLayout.JAVA_LONG, FILES_OFFSET), structure.get(ValueLayout.JAVA_LONG, FREE_OFFSET));
    } catch (IOException | RuntimeException | Error known) {
      throw known;
    } catch (Throwable other) {
      throw new IllegalStateException("statvfs throws nothing", other);
    }
  }

  @SuppressWarnings("restricted") // native access is allowed where this is called
  private static MethodHandle statvfs() throws IOException {
    Linker linker = Linker.nativeLinker();
    MemorySegment function = linker.defaultLookup().find("statvfs").orElseThrow(() -> new IOException("the system has no statvfs"));
    return linker.downcallHandle(function, FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
  }
}
