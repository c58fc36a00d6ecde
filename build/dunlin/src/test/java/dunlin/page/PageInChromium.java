package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dunlin.browser.Chromium;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** The operations page in a browser, used as people use it. Its tests are skipped where there is no browser. */
abstract class PageInChromium {
  /** What runs in a page that takes it for markup. */
  static final String HOSTILE = "<img src=x onerror=\"window.hit='yes'\">";

  private static final String DIALOG_IS_OPEN = "document.getElementById('question').open";

  private static @Nullable Chromium started;

  @BeforeAll
  static void startBrowser(@TempDir(cleanup = CleanupMode.NEVER) Path profile) throws Exception {
    Optional<Path> program = Chromium.find();
    if (program.isPresent()) started = new Chromium(program.get(), profile);
  }

  @AfterAll
  static void stopBrowser() {
    if (started != null) started.close();
    started = null;
  }

  @BeforeEach
  void forgetWhatWasShown() throws Exception {
    assumeTrue(started != null, "There is no Chromium on PATH to try the page in. Install it (chromium), or name it in DUNLIN_CHROMIUM.");
    browser().forget();
  }

  static Chromium browser() {
    if (started == null) throw new AssertionError("not started");
    return started;
  }

  static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(Duration.ofMinutes(2)).until(condition);
  }

  static String js(String expression) throws Exception {
    return browser().evaluate(expression);
  }

  static String focused() throws Exception {
    return js("document.activeElement?.id");
  }

  static void press(String selector) throws Exception {
    await(selector, () -> js("document.querySelector(`" + selector + "`) !== null").equals("true"));
    js("document.querySelector(`" + selector + "`).click()");
  }

  /** Answers the question that stands between a button and what cannot be undone. */
  static void answer(String button) throws Exception {
    await("a question", () -> js(DIALOG_IS_OPEN).equals("true"));
    assertThat(browser().text("question-yes")).isEqualTo(button);
    press("#question-yes");
    await("the question is closed", () -> js(DIALOG_IS_OPEN).equals("false"));
  }

  /** Closes it without doing what it is about. */
  static void escape() throws Exception {
    await("a question", () -> js(DIALOG_IS_OPEN).equals("true"));
    browser().press("Escape");
    await("the question is closed", () -> js(DIALOG_IS_OPEN).equals("false"));
  }

  /** Types over what a field has. */
  static void fill(String id, String text) throws Exception {
    await(id, () -> js("document.getElementById('" + id + "') !== null").equals("true"));
    js("(document.getElementById('" + id + "').focus(), document.getElementById('" + id + "').select())");
    browser().type(text);
  }

  static void choose(String id, String value) throws Exception {
    js("(document.getElementById('%1$s').value = '%2$s', document.getElementById('%1$s').dispatchEvent(new Event('change')))".formatted(id, value));
  }

  static void view(String hash, String title) throws Exception {
    js("location.hash = '#/" + hash + "'");
    await(title, () -> browser().text("title").equals(title));
  }

  static int rows() throws Exception {
    return Integer.parseInt(js("document.querySelectorAll('#view tbody tr').length"));
  }

  /** The text of the view. */
  static String shown() throws Exception {
    return browser().text("view");
  }

  static void awaitShown(String... texts) {
    for (String text : texts) await(text, () -> shown().contains(text));
  }

  static void awaitDone(String text) {
    await(text, () -> browser().text("done").equals(text));
  }

  /** Waits for the sentence with which something is refused. */
  static void awaitTrouble(String text) {
    await(text, () -> browser().text("trouble").contains(text));
  }

  /** Signs in as a person does. */
  static void signIn(String address, String token) throws Exception {
    browser().open(address + "/");
    await("the field of the token has the focus", () -> focused().equals("token"));
    browser().type(token);
    browser().press("Enter");
    await("the overview", () -> browser().text("title").equals("Overview"));
  }

  static void nothingBecameMarkup() throws Exception {
    assertThat(js("document.querySelectorAll('#view img, #view script, #question img').length")).isEqualTo("0");
    assertThat(js("typeof window.hit")).isEqualTo("undefined");
  }
}
