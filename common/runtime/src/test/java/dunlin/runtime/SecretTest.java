package dunlin.runtime;

import static dunlin.runtime.TestSettings.SECRET;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Secrets in place, in files and in variables: what they are, and that they are shown nowhere. */
class SecretTest {
  private static final String KEY = "dunlin.cluster.secret";

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({"sesame,sesame", "text:sesame,sesame", "text:file:sesame,file:sesame", "text:text:sesame,text:sesame", "files:sesame,files:sesame"})
  void aSecretMayStandInPlace(String written, String meant) {
    Settings settings = load(written);
    assertThat(settings.get(SECRET).value()).isEqualTo(meant);
    assertThat(settings.get(SECRET).toString()).isEqualTo("********");
    assertThat(settings.effective()).containsEntry(KEY, "********");
  }

  @ParameterizedTest
  @CsvSource({"'sesame',sesame", "'sesame\n',sesame", "'sesame\r\n',sesame", "'sesame\n\n','sesame\n'", "'  s\u00e4 ','  s\u00e4 '"})
  void aSecretMayBeInAFileWithOneLineEndBehindIt(String content, String meant) {
    Path file = file(content);
    Settings settings = load("file:" + file);
    assertThat(settings.get(SECRET).value()).isEqualTo(meant);
    assertThat(settings.effective()).containsEntry(KEY, "file:" + file);
  }

  @Test
  void aRelativePathIsThatOfTheConfigurationFile() throws IOException {
    file("sesame");
    Path conf = Files.writeString(folder.resolve("dunlin.conf"), KEY + " = \"file:secret\"");
    assertThat(Settings.load(TestSettings.ALL, SettingSource.file(conf)).get(SECRET).value()).isEqualTo("sesame");
  }

  @Test
  void aFileIsReadAgainWheneverTheSecretIsNeeded() {
    Secret secret = load("file:" + file("first")).get(SECRET);
    assertThat(secret.value()).isEqualTo("first");
    file("second");
    assertThat(secret.value()).isEqualTo("second");
  }

  @Test
  void aSecretMayBeInAnEnvironmentVariable() {
    Settings settings = load("env:PATH");
    assertThat(settings.get(SECRET).value()).isEqualTo(System.getenv("PATH"));
    assertThat(settings.effective()).containsEntry(KEY, "env:PATH");
  }

  @Test
  void withoutASecretItsValueIsEmpty() {
    Settings settings = Settings.load(TestSettings.ALL, SettingSource.none());
    assertThat(settings.get(SECRET).value()).isEmpty();
    assertThat(settings.effective()).containsEntry(KEY, "");
  }

  @Test
  void whatCannotBeReadIsNamedInOneSentence() throws IOException {
    refused("file:" + folder.resolve("none"), "the file " + folder.resolve("none") + " does not exist.");
    refused("file:" + folder, "is not a regular file.");
    refused("file:" + file(""), "is empty.");
    refused("file:" + file("\n"), "is empty.");
    refused("file:" + file("s".repeat(64 * 1024 + 1)), "is larger than 65536 bytes.");
    refused("file:" + Files.write(folder.resolve("binary"), new byte[] {'s', (byte) 0xC3}), "is not text in UTF-8.");
    refused("file:", "file: must be followed by the path of a file.");
    refused("file:a\0sesame", "file: must be followed by the path of a file.");
    refused("env:", "env: must be followed by the name of an environment variable.");
    refused("env:sesame open", "env: must be followed by the name of an environment variable.");
    refused("env:NOT_SET_ANYWHERE", "the environment variable NOT_SET_ANYWHERE is not set.");
    assertThat(load("file:" + file("s".repeat(64 * 1024))).get(SECRET).value()).hasSize(64 * 1024);
  }

  @Test
  void aFileOfAnotherUserIsNamed() throws IOException {
    Path file = file("sesame");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
    assumeThat(Files.isReadable(file)).as("root reads everything").isFalse();
    refused("file:" + file, "may not be read by the user of this process.");
  }

  @Test
  void anOverriddenSecretNeedsNoFile() {
    SettingSource file = SettingSource.map("test", Map.of(KEY, "file:" + folder.resolve("none")));
    assertThat(Settings.load(TestSettings.ALL, properties("sesame"), file).get(SECRET).value()).isEqualTo("sesame");
  }

  @Test
  void anInspectionGoesOnWithoutASecretThatCannotBeRead() {
    var inspected = Settings.inspect(TestSettings.ALL, List.of(() -> properties("file:" + folder.resolve("none"))));
    assertThat(inspected.problems()).singleElement().asString().startsWith(KEY + ": the file");
    assertThat(inspected.wrongKeys()).containsExactly(KEY);
    assertThat(inspected.settings().get(SECRET).value()).isEmpty();
  }

  @Test
  void onlySecretsThatStandInArgumentsAreWarnedOf() {
    assertThat(Settings.load(TestSettings.ALL, properties("sesame")).secretsInArguments()).containsExactly(KEY);
    assertThat(Settings.load(TestSettings.ALL, properties("env:PATH")).secretsInArguments()).isEmpty();
    assertThat(Settings.load(TestSettings.ALL, properties("")).secretsInArguments()).isEmpty();
    assertThat(load("sesame").secretsInArguments()).isEmpty();
  }

  /** The parser's own words quote what it did not expect. */
  @ParameterizedTest
  @CsvSource({
    "'dunlin.data-dir = a\ndunlin.cluster.secret = \"hunter2\" } hunter2', line 2",
    "'dunlin.cluster.secret = ${hunter2}', line 1",
    "'dunlin.cluster.secret = \"hunter2', line 1",
  })
  void aFileThatDoesNotParseIsNotQuoted(String content, String line) throws IOException {
    Path conf = Files.writeString(folder.resolve("dunlin.conf"), content);
    assertThatThrownBy(() -> SettingSource.file(conf))
        .isInstanceOf(SettingException.class)
        .hasNoCause()
        .hasMessageContaining(line + " of " + conf)
        .message()
        .doesNotContain("hunter2");
  }

  private void refused(String written, String sentence) {
    assertThatThrownBy(() -> load(written))
        .isInstanceOf(SettingException.class)
        .hasNoCause()
        .hasMessageStartingWith(KEY)
        .hasMessageEndingWith(sentence)
        .message()
        .doesNotContain("sesame");
  }

  private static Settings load(String written) {
    return Settings.load(TestSettings.ALL, SettingSource.map("test", Map.of(KEY, written)));
  }

  private static SettingSource properties(String written) {
    Properties properties = new Properties();
    properties.setProperty(KEY, written);
    return SettingSource.properties(properties);
  }

  private Path file(String content) {
    try {
      return Files.writeString(folder.resolve("secret"), content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
