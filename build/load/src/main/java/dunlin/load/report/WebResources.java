package dunlin.load.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Reads scripts and styles for browsers from the class path. */
public final class WebResources {
  /** The version must match the webjar's in the parent POM. */
  private static final String UPLOT = "/META-INF/resources/webjars/uplot/1.6.30/dist/";

  private WebResources() {}

  public static String uplotStyle() {
    return read(UPLOT + "uPlot.min.css");
  }

  public static String uplotScript() {
    return read(UPLOT + "uPlot.iife.min.js");
  }

  public static String read(String resource) {
    try (InputStream in = WebResources.class.getResourceAsStream(resource)) {
      if (in == null) throw new IllegalStateException("not on the class path: " + resource);
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
