package dunlin.ctl;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Where the admin API is and with which token it is asked: the two lines of a node's file {@code admin-access}, or of one that an operator
 * has written.
 */
record ApiAccess(URI address, String token) {
  /** @throws IOException saying what is wrong with the file */
  static ApiAccess read(Path file) throws IOException {
    if (!Files.exists(file)) {
      throw new IOException(file + " does not exist: name the file admin-access in the node's data directory by --access or DUNLINCTL_ACCESS");
    }
    List<String> lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
    if (lines.size() != 2 || !lines.getFirst().startsWith("http://") || lines.getLast().isBlank()) {
      throw new IOException(file + " has not two lines, an address with http:// and a token");
    }
    try {
      return new ApiAccess(URI.create(lines.getFirst().strip()), lines.getLast().strip());
    } catch (IllegalArgumentException e) {
      throw new IOException(file + " has no valid address: " + e.getMessage(), e);
    }
  }
}
