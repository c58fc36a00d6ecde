package dunlin.load.page;

import dunlin.load.report.WebResources;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;

/** The files of the page by path. */
final class PageFiles {
  private static final String OWN = "/dunlin/load/page/";
  private static final String SCRIPT = "text/javascript; charset=utf-8";
  private static final String STYLE = "text/css; charset=utf-8";

  private final Map<String, Content> files =
      Map.of(
          "/", new Content("text/html; charset=utf-8", WebResources.read(OWN + "page.html")),
          "/page.css", new Content(STYLE, WebResources.read(OWN + "page.css")),
          "/page.js", new Content(SCRIPT, WebResources.read(OWN + "page.js")),
          "/icon.svg", new Content("image/svg+xml", WebResources.read(OWN + "icon.svg")),
          "/uplot.css", new Content(STYLE, WebResources.uplotStyle()),
          "/uplot.js", new Content(SCRIPT, WebResources.uplotScript()));

  record Content(String type, byte[] bytes) {
    Content(String type, String text) {
      this(type, text.getBytes(StandardCharsets.UTF_8));
    }
  }

  Optional<Content> find(String path) {
    return Optional.ofNullable(files.get(path));
  }
}
