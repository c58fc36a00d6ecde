package dunlin.runtime;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigOrigin;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigSyntax;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Reads a configuration file; the only class that uses the parsing library. */
final class SettingFile {
  private SettingFile() {}

  static List<RawSetting> read(Path file) {
    if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
      throw new SettingException("The configuration file %s is missing or not readable.".formatted(file));
    }
    try {
      ConfigSyntax syntax = file.toString().endsWith(".properties") ? ConfigSyntax.PROPERTIES : ConfigSyntax.CONF;
      ConfigParseOptions options = ConfigParseOptions.defaults().setSyntax(syntax).setAllowMissing(false);
      Config config = ConfigFactory.parseFile(file.toFile(), options).resolve();
      return values(config, file);
    } catch (ConfigException failure) {
      throw doesNotParse(file, failure);
    }
  }

  /** The place, but not the words of the parser: they quote the file, which may have secrets. */
  private static SettingException doesNotParse(Path file, ConfigException failure) {
    ConfigOrigin origin = failure.origin();
    String place = origin == null ? file.toString() : where(origin, file);
    String kind =
        failure instanceof ConfigException.UnresolvedSubstitution ? "a substitution ${...} has no value" : "it is not valid HOCON or properties syntax";
    return new SettingException("The configuration file %s does not parse: %s (%s).".formatted(file, kind, place));
  }

  private static List<RawSetting> values(Config config, Path file) {
    for (Map.Entry<String, ConfigValue> root : config.root().entrySet()) {
      if (!root.getKey().equals("dunlin") || root.getValue().valueType() != ConfigValueType.OBJECT) {
        throw new SettingException(
            "Key %s (%s) is not one of ours; the file may only have keys that begin with \"dunlin.\"."
                .formatted(LogText.escaped(root.getKey()), where(root.getValue().origin(), file)));
      }
    }
    Path directory = Objects.requireNonNullElse(file.getParent(), Path.of(""));
    List<RawSetting> values = new ArrayList<>();
    for (Map.Entry<String, ConfigValue> entry : config.entrySet()) {
      String key = String.join(".", ConfigUtil.splitPath(entry.getKey()));
      ConfigValue value = entry.getValue();
      String origin = where(value.origin(), file);
      if (value instanceof ConfigList list) {
        List<String> elements = list.unwrapped().stream().map(String::valueOf).toList();
        values.add(RawSetting.ofList(key, elements, origin).in(directory));
      } else {
        values.add(RawSetting.ofText(key, String.valueOf(value.unwrapped()), origin).in(directory));
      }
    }
    return values;
  }

  private static String where(ConfigOrigin origin, Path file) {
    return origin.lineNumber() > 0 ? "line %d of %s".formatted(origin.lineNumber(), file) : file.toString();
  }
}
