package dunlin.admin;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Makes the OpenAPI 3.1 document from the table of endpoints and the records that they answer. */
final class OpenApi {
  private static final String PROBLEM = "#/components/schemas/Problem";

  private OpenApi() {}

  static JsonObject document(String version) {
    JsonObject info = object("title", "Dunlin admin API");
    info.addProperty("version", version);
    JsonObject document = object("openapi", "3.1.0");
    document.add("info", info);
    document.add("servers", array(object("url", Endpoints.PREFIX)));
    document.add("security", array(named("bearer", new JsonArray())));
    JsonObject paths = new JsonObject();
    JsonObject schemas = new JsonObject();
    schemas.add("Problem", problem());
    for (Endpoint endpoint : Endpoints.ALL) {
      schemas.add(endpoint.answer().getSimpleName(), record(endpoint.answer()));
      JsonElement path = paths.get(endpoint.path());
      JsonObject methods = path == null ? new JsonObject() : path.getAsJsonObject();
      methods.add(endpoint.method().name().toLowerCase(Locale.ROOT), operation(endpoint));
      paths.add(endpoint.path(), methods);
    }
    document.add("paths", paths);
    JsonObject bearer = object("type", "http");
    bearer.addProperty("scheme", "bearer");
    JsonObject components = named("schemas", schemas);
    components.add("securitySchemes", named("bearer", bearer));
    document.add("components", components);
    return document;
  }

  private static JsonObject operation(Endpoint endpoint) {
    JsonObject operation = object("operationId", endpoint.operationId());
    operation.addProperty("summary", endpoint.summary() + ".");
    operation.addProperty("x-role", endpoint.role().label());
    operation.addProperty("x-command", endpoint.command());
    JsonArray parameters = new JsonArray();
    JsonObject members = new JsonObject();
    JsonArray required = new JsonArray();
    for (Parameter parameter : endpoint.parameters()) {
      if (parameter.place() == Parameter.Place.BODY) {
        JsonObject schema = schema(parameter);
        schema.addProperty("description", parameter.description());
        members.add(parameter.name(), schema);
        if (parameter.required()) required.add(parameter.name());
      } else {
        parameters.add(parameter(parameter));
      }
    }
    operation.add("parameters", parameters);
    if (members.size() > 0) {
      JsonObject body = object("type", "object");
      body.add("properties", members);
      body.add("required", required);
      body.addProperty("additionalProperties", false);
      JsonObject content = named("content", json("application/json", body));
      content.addProperty("required", required.size() > 0);
      operation.add("requestBody", content);
    }
    JsonObject responses = new JsonObject();
    if (endpoint.stream()) responses.add("200", response("Server-sent events; the data of each is this.", "text/event-stream", answer(endpoint)));
    else responses.add("200", response("What was asked for.", "application/json", answer(endpoint)));
    responses.add("default", response("Why not.", "application/problem+json", object("$ref", PROBLEM)));
    operation.add("responses", responses);
    return operation;
  }

  private static JsonObject parameter(Parameter parameter) {
    JsonObject shown = object("name", parameter.name());
    shown.addProperty("in", parameter.place().name().toLowerCase(Locale.ROOT));
    shown.addProperty("required", parameter.required());
    shown.addProperty("description", parameter.description());
    shown.add("schema", schema(parameter));
    return shown;
  }

  private static JsonObject schema(Parameter parameter) {
    String preset = parameter.preset();
    return switch (parameter.kind()) {
      case TEXT, LINES, SECRET -> {
        JsonObject schema = object("type", "string");
        schema.addProperty("minLength", parameter.min());
        schema.addProperty("maxLength", parameter.max());
        if (!parameter.choices().isEmpty()) schema.add("enum", texts(parameter.choices()));
        if (preset != null) schema.addProperty("default", preset);
        if (parameter.kind() == Parameter.Kind.SECRET) schema.addProperty("format", "password");
        yield schema;
      }
      case INTEGER -> {
        JsonObject schema = object("type", "integer");
        schema.addProperty("minimum", parameter.min());
        schema.addProperty("maximum", parameter.max());
        if (preset != null) schema.addProperty("default", Long.parseLong(preset));
        yield schema;
      }
      case FLAG -> {
        JsonObject schema = object("type", "boolean");
        schema.addProperty("default", Boolean.parseBoolean(preset));
        yield schema;
      }
    };
  }

  private static JsonObject answer(Endpoint endpoint) {
    JsonObject row = object("$ref", "#/components/schemas/" + endpoint.answer().getSimpleName());
    if (!endpoint.listing()) return row;
    JsonObject items = object("type", "array");
    items.add("items", row);
    JsonObject members = named("items", items);
    members.add("next", object("type", "string"));
    JsonObject unanswered = object("type", "array");
    unanswered.add("items", object("type", "string"));
    members.add("unanswered", unanswered);
    JsonObject page = object("type", "object");
    page.add("properties", members);
    page.add("required", texts(List.of("items", "next", "unanswered")));
    return page;
  }

  private static JsonObject record(Class<? extends Record> type) {
    JsonObject members = new JsonObject();
    JsonArray required = new JsonArray();
    for (RecordComponent component : type.getRecordComponents()) {
      members.add(component.getName(), component(component.getGenericType()));
      if (!component.getAnnotatedType().isAnnotationPresent(Nullable.class)) required.add(component.getName());
    }
    JsonObject schema = object("type", "object");
    schema.add("properties", members);
    schema.add("required", required);
    return schema;
  }

  private static JsonObject component(Type generic) {
    if (generic instanceof ParameterizedType list && list.getRawType() == List.class) {
      JsonObject items = object("type", "array");
      items.add("items", component(list.getActualTypeArguments()[0]));
      return items;
    }
    if (!(generic instanceof Class<?> type)) return numbersByName();
    if (type == String.class) return object("type", "string");
    if (type == boolean.class) return object("type", "boolean");
    if (type == int.class || type == long.class || type == Integer.class) return object("type", "integer"); // the last one in lists
    if (type == double.class) return object("type", "number");
    if (type.isRecord()) return record(type.asSubclass(Record.class));
    throw new IllegalStateException("no schema for " + type);
  }

  private static JsonObject numbersByName() {
    JsonObject map = object("type", "object");
    map.add("additionalProperties", object("type", "integer"));
    return map;
  }

  private static JsonObject problem() {
    JsonObject members = new JsonObject();
    for (String name : List.of("type", "title", "detail")) members.add(name, object("type", "string"));
    members.add("status", object("type", "integer"));
    JsonObject schema = object("type", "object");
    schema.add("properties", members);
    schema.add("required", texts(List.of("title", "status", "detail")));
    return schema;
  }

  private static JsonObject response(String description, String type, JsonObject schema) {
    JsonObject response = object("description", description);
    response.add("content", json(type, schema));
    return response;
  }

  private static JsonObject json(String type, JsonObject schema) {
    return named(type, named("schema", schema));
  }

  private static JsonObject object(String name, String value) {
    return named(name, new JsonPrimitive(value));
  }

  private static JsonObject named(String name, JsonElement value) {
    JsonObject object = new JsonObject();
    object.add(name, value);
    return object;
  }

  private static JsonArray array(JsonElement only) {
    JsonArray array = new JsonArray();
    array.add(only);
    return array;
  }

  private static JsonArray texts(List<String> values) {
    JsonArray array = new JsonArray();
    values.forEach(array::add);
    return array;
  }
}
