package dunlin.load.report;

import dunlin.load.engine.Result;
import java.util.List;
import java.util.Map;

/** Writes one file with tables and plots of one result, or of two side by side. The file has no external resources. */
public final class HtmlReport {
  private HtmlReport() {}

  public static String of(Result result) {
    return ofTrees(List.of(JsonReport.tree(result)));
  }

  static String ofTrees(List<Map<String, Object>> results) {
    return WebResources.read("/dunlin/load/report/report.html")
        .replace("@@UPLOT_CSS@@", WebResources.uplotStyle())
        .replace("@@UPLOT_JS@@", WebResources.uplotScript())
        .replace("@@DATA@@", JsonWriter.write(results).strip());
  }
}
