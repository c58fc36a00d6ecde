package dunlin.runtime.metrics;

import dunlin.runtime.LogText;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.MBeanOperationInfo;
import javax.management.MBeanParameterInfo;
import javax.management.ReflectionException;
import javax.management.StandardMBean;
import org.jspecify.annotations.Nullable;

/**
 * An MXBean with the descriptions of its interface's {@link Description} annotations, and with the real names of
 * parameters. A plain MXBean has no descriptions and names the parameters p0 and p1. What is done with it is in the log {@code dunlin.audit}.
 */
final class DescribedBean extends StandardMBean {
  /*
   * Owner: any thread; only the wrapped bean has state.
   */
  private final String name;
  private final Class<?> shape;

  private <T> DescribedBean(String name, T bean, Class<T> shape) {
    super(bean, shape, true);
    this.name = name;
    this.shape = shape;
  }

  /**
   * @param name for the log
   * @throws IllegalArgumentException when it implements no interface whose name ends in MXBean
   */
  static DescribedBean of(String name, Object bean) {
    return of(name, bean, shapeOf(bean.getClass()).orElseThrow(() -> new IllegalArgumentException("not an MXBean: " + bean.getClass())));
  }

  private static <T> DescribedBean of(String name, Object bean, Class<T> shape) {
    return new DescribedBean(name, shape.cast(bean), shape);
  }

  private static Optional<Class<?>> shapeOf(Class<?> type) {
    for (Class<?> each = type; each != null; each = each.getSuperclass()) {
      for (Class<?> shape : each.getInterfaces()) if (shape.getSimpleName().endsWith("MXBean")) return Optional.of(shape);
    }
    return Optional.empty();
  }

  @Override
  public Object invoke(String operation, Object @Nullable [] arguments, String @Nullable [] signature) throws MBeanException, ReflectionException {
    Object[] given = arguments == null ? new Object[0] : arguments;
    String outcome = "done";
    try {
      return super.invoke(operation, arguments, signature);
    } catch (MBeanException | ReflectionException | RuntimeException failure) {
      outcome = (failure.getCause() == null ? failure : failure.getCause()).getClass().getSimpleName();
      throw failure;
    } finally {
      JmxAudit.called(name, operation, shown(operation, given), outcome);
    }
  }

  /** The arguments by their names, without those that no log may have. */
  private List<String> shown(String operation, Object[] given) {
    Method method = method(operation, given.length);
    if (method == null) return List.of();
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < given.length; i++) {
      Parameter parameter = method.getParameters()[i];
      Description description = parameter.getAnnotation(Description.class);
      boolean concealed = description == null || description.concealed();
      shown.add(parameter.getName() + '=' + (concealed ? "***" : LogText.quoted(String.valueOf(given[i]))));
    }
    return shown;
  }

  @Override
  protected String getDescription(MBeanInfo info) {
    return text(shape.getAnnotation(Description.class), info.getDescription());
  }

  @Override
  protected String getDescription(MBeanAttributeInfo attribute) {
    Method getter = method((attribute.isIs() ? "is" : "get") + attribute.getName(), 0);
    return text(getter == null ? null : getter.getAnnotation(Description.class), attribute.getDescription());
  }

  @Override
  protected String getDescription(MBeanOperationInfo operation) {
    Method method = method(operation);
    return text(method == null ? null : method.getAnnotation(Description.class), operation.getDescription());
  }

  @Override
  protected String getDescription(MBeanOperationInfo operation, MBeanParameterInfo parameter, int sequence) {
    Parameter declared = parameter(operation, sequence);
    return text(declared == null ? null : declared.getAnnotation(Description.class), parameter.getDescription());
  }

  @Override
  protected String getParameterName(MBeanOperationInfo operation, MBeanParameterInfo parameter, int sequence) {
    Parameter declared = parameter(operation, sequence);
    return declared == null ? parameter.getName() : declared.getName();
  }

  private @Nullable Parameter parameter(MBeanOperationInfo operation, int sequence) {
    Method method = method(operation);
    return method == null ? null : method.getParameters()[sequence];
  }

  private @Nullable Method method(MBeanOperationInfo operation) {
    return method(operation.getName(), operation.getSignature().length);
  }

  /** Finds a method; no bean has two operations with the same name and number of parameters. */
  private @Nullable Method method(String name, int parameters) {
    return Arrays.stream(shape.getMethods())
        .filter(each -> each.getName().equals(name) && each.getParameterCount() == parameters)
        .findFirst()
        .orElse(null);
  }

  private static String text(@Nullable Description description, String otherwise) {
    return description == null ? otherwise : description.value();
  }
}
