package dunlin.load.report;

import dunlin.load.engine.Result;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** One file with tables and plots, of one result or of two side by side; it asks nothing of the network. */
public final class HtmlReport {
  /** The webjar's own, as in the parent POM. */
  private static final String UPLOT = "/META-INF/resources/webjars/uplot/1.6.30/dist/";

  private HtmlReport() {}

  public static String of(Result result) {
    return ofTrees(List.of(JsonReport.tree(result)));
  }

  static String ofTrees(List<Map<String, Object>> results) {
    return read("/dunlin/load/report/report.html")
        .replace("@@UPLOT_CSS@@", read(UPLOT + "uPlot.min.css"))
        .replace("@@UPLOT_JS@@", read(UPLOT + "uPlot.iife.min.js"))
        .replace("@@DATA@@", JsonWriter.write(results).strip());
  }

  private static String read(String resource) {
    try (InputStream in = HtmlReport.class.getResourceAsStream(resource)) {
      if (in == null) throw new IllegalStateException("not on the class path: " + resource);
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
