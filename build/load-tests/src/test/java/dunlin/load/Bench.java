package dunlin.load;

import java.io.PrintWriter;
import java.io.StringWriter;

/** The result of a command that ran in this JVM. */
public record Bench(int status, String out, String err) {
  public static Bench run(String... arguments) {
    var out = new StringWriter();
    var err = new StringWriter();
    int status = Main.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
    return new Bench(status, out.toString(), err.toString());
  }
}
