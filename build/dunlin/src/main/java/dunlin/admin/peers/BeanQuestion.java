package dunlin.admin.peers;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/** A question, the operation of an MXBean with its arguments, and its answer as bytes between nodes: JSON, since operations have texts, numbers and records. */
final class BeanQuestion {
  private static final Gson GSON = new Gson();

  private BeanQuestion() {}

  /** How a node answers. */
  sealed interface Answer {
    record Value(JsonElement value) implements Answer {}

    /** The node has no such bean now, and nothing was done. */
    record Absent() implements Answer {}

    /** The node's version knows no such operation, and nothing was done. */
    record Unknown() implements Answer {}

    /** The bean has refused the arguments. */
    record WrongArgument(String sentence) implements Answer {}

    /** The bean cannot do it in its present state. */
    record WrongState(String sentence) implements Answer {}
  }

  /** @param range the UUID of the range whose bean is asked; empty for the only bean of its type */
  static byte[] question(Class<?> shape, String range, Method method, Object[] arguments) {
    JsonObject question = new JsonObject();
    question.addProperty("bean", shape.getSimpleName());
    if (!range.isEmpty()) question.addProperty("range", range);
    question.addProperty("operation", method.getName());
    JsonArray values = new JsonArray();
    Type[] types = method.getGenericParameterTypes();
    for (int i = 0; i < types.length; i++) values.add(GSON.toJsonTree(arguments[i], types[i]));
    question.add("arguments", values);
    return bytes(question);
  }

  /** What another node has asked; the bean is named and not looked up yet. */
  record Asked(String bean, String range, String operation, JsonArray arguments) {
    /** @throws IllegalArgumentException when it is no question */
    static Asked of(byte[] bytes) {
      try {
        JsonObject question = object(bytes);
        String range = question.has("range") ? question.get("range").getAsString() : "";
        return new Asked(question.get("bean").getAsString(), range, question.get("operation").getAsString(), question.getAsJsonArray("arguments"));
      } catch (JsonParseException | IllegalStateException | NullPointerException | ClassCastException | UnsupportedOperationException wrong) {
        throw new IllegalArgumentException("not a question to a bean", wrong);
      }
    }

    /** Does it by a bean. */
    Answer by(Class<?> shape, Object bean) {
      Optional<Method> known =
          Arrays.stream(shape.getMethods()).filter(each -> each.getName().equals(operation) && each.getParameterCount() == arguments.size()).findFirst();
      if (known.isEmpty()) return new Answer.Unknown();
      Method method = known.get();
      Type[] types = method.getGenericParameterTypes();
      Object[] values = new Object[types.length];
      for (int i = 0; i < types.length; i++) values[i] = GSON.fromJson(arguments.get(i), types[i]);
      try {
        return new Answer.Value(GSON.toJsonTree(method.invoke(bean, values), method.getGenericReturnType()));
      } catch (InvocationTargetException thrown) {
        return switch (thrown.getCause()) {
          case IllegalArgumentException refused -> new Answer.WrongArgument(String.valueOf(refused.getMessage()));
          case IllegalStateException refused -> new Answer.WrongState(String.valueOf(refused.getMessage()));
          case RuntimeException failure -> throw failure;
          case null, default -> throw new IllegalStateException("an operation of " + this.bean + " has failed", thrown);
        };
      } catch (IllegalAccessException impossible) {
        throw new IllegalStateException("the operations of MXBeans are public", impossible);
      }
    }
  }

  static byte[] bytes(Answer answer) {
    JsonObject text = new JsonObject();
    switch (answer) {
      case Answer.Value(var value) -> text.add("value", value);
      case Answer.Absent() -> text.addProperty("absent", true);
      case Answer.Unknown() -> text.addProperty("unknown", true);
      case Answer.WrongArgument(var sentence) -> text.addProperty("wrongArgument", sentence);
      case Answer.WrongState(var sentence) -> text.addProperty("wrongState", sentence);
    }
    return bytes(text);
  }

  /** @throws IllegalArgumentException when it is no answer */
  static Answer answer(byte[] bytes) {
    try {
      JsonObject text = object(bytes);
      if (text.has("absent")) return new Answer.Absent();
      if (text.has("unknown")) return new Answer.Unknown();
      Optional<String> argument = sentence(text, "wrongArgument");
      if (argument.isPresent()) return new Answer.WrongArgument(argument.get());
      Optional<String> state = sentence(text, "wrongState");
      if (state.isPresent()) return new Answer.WrongState(state.get());
      if (!text.has("value")) throw new IllegalArgumentException("neither a value nor a refusal");
      return new Answer.Value(text.get("value"));
    } catch (JsonParseException | IllegalStateException wrong) {
      throw new IllegalArgumentException("not an answer of a bean", wrong);
    }
  }

  /** What the operation answers, from its form between nodes. */
  static Object value(Method method, JsonElement value) {
    return GSON.fromJson(value, method.getGenericReturnType());
  }

  private static Optional<String> sentence(JsonObject text, String name) {
    return text.has(name) ? Optional.of(text.get(name).getAsString()) : Optional.empty();
  }

  private static JsonObject object(byte[] bytes) {
    return JsonParser.parseString(new String(bytes, StandardCharsets.UTF_8)).getAsJsonObject();
  }

  private static byte[] bytes(JsonObject object) {
    return GSON.toJson(object).getBytes(StandardCharsets.UTF_8);
  }
}
