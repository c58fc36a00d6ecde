package dunlin;

import dunlin.node.Node;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** {@code bin/dunlin --version}. */
final class Version {
  private Version() {}

  public static void main(String[] args) {
    new PrintStream(System.out, true, StandardCharsets.UTF_8).println("Dunlin " + Node.VERSION + ", on Java " + Runtime.version());
  }
}
