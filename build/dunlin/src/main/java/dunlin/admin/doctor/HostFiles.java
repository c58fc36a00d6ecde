package dunlin.admin.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * The files in which Linux says what it is and what a process may do. On other systems there are none of them.
 *
 * @param root under which proc and sys are
 */
record HostFiles(Path root) {
  private static final int BYTES_MAX = 65_536;

  /** The text of a file, its first 64 KiB; empty when it is not there or cannot be read. */
  Optional<String> text(String path) {
    try (InputStream in = Files.newInputStream(root.resolve(path))) {
      // The kernel gives the whole of a number to the first read, and nothing to a second one. Files.readString begins with one byte, as these files have no size.
      byte[] bytes = new byte[BYTES_MAX];
      int length = in.readNBytes(bytes, 0, bytes.length);
      return Optional.of(new String(bytes, 0, length, StandardCharsets.UTF_8).strip());
    } catch (IOException | SecurityException unreadable) {
      return Optional.empty();
    }
  }

  /** Why a file has not said what was asked for, as a sentence. */
  String why(String path) {
    Path file = root.resolve(path);
    if (!Files.exists(file)) return "There is no /%s.".formatted(path);
    return text(path).isEmpty() ? "The node may not read /%s.".formatted(path) : "/%s has another form than expected.".formatted(path);
  }

  List<String> lines(String path) {
    return text(path).map(text -> text.lines().toList()).orElseGet(List::of);
  }

  /** The words of the first line that begins with a text, behind it. */
  List<String> words(String path, String beginning) {
    return lines(path).stream()
        .filter(line -> line.startsWith(beginning))
        .findFirst()
        .map(line -> Arrays.asList(line.substring(beginning.length()).strip().split("\\s+", -1)))
        .orElseGet(List::of);
  }

  /** The number that is the only word of a file. */
  OptionalLong number(String path) {
    return text(path).map(HostFiles::asNumber).orElseGet(OptionalLong::empty);
  }

  /** The first word behind the beginning of a line, as a number. */
  OptionalLong number(String path, String beginning) {
    List<String> words = words(path, beginning);
    return words.isEmpty() ? OptionalLong.empty() : asNumber(words.getFirst());
  }

  /** All words of the first line of a file as numbers; empty when there are not so many, or one is no number. */
  List<Long> numbers(String path, int wanted) {
    List<Long> numbers = words(path, "").stream().map(HostFiles::asNumber).filter(OptionalLong::isPresent).map(OptionalLong::getAsLong).toList();
    return numbers.size() == wanted && words(path, "").size() == wanted ? numbers : List.of();
  }

  static OptionalLong asNumber(String text) {
    return text.matches("[0-9]{1,18}") ? OptionalLong.of(Long.parseLong(text)) : OptionalLong.empty();
  }

  /** How many entries a directory has. */
  OptionalLong entries(String path) {
    try (Stream<Path> entries = Files.list(root.resolve(path))) {
      return OptionalLong.of(entries.count());
    } catch (IOException | SecurityException unreadable) {
      return OptionalLong.empty();
    }
  }
}
