package dunlin.runtime.metrics;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.Optional;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanOperationInfo;
import javax.management.MBeanParameterInfo;
import javax.management.StandardMBean;
import org.jspecify.annotations.Nullable;

/**
 * An MXBean with the descriptions of its interface's {@link Description} annotations, and with the real names of
 * parameters. A plain MXBean has no descriptions and names the parameters p0 and p1.
 */
final class DescribedBean extends StandardMBean {
  /*
   * Owner: any thread; only the wrapped bean has state.
   */
  private final Class<?> shape;

  private <T> DescribedBean(T bean, Class<T> shape) {
    super(bean, shape, true);
    this.shape = shape;
  }

  /** @throws IllegalArgumentException when it implements no interface whose name ends in MXBean */
  static DescribedBean of(Object bean) {
    return of(bean, shapeOf(bean.getClass()).orElseThrow(() -> new IllegalArgumentException("not an MXBean: " + bean.getClass())));
  }

  private static <T> DescribedBean of(Object bean, Class<T> shape) {
    return new DescribedBean(shape.cast(bean), shape);
  }

  private static Optional<Class<?>> shapeOf(Class<?> type) {
    for (Class<?> each = type; each != null; each = each.getSuperclass()) {
      for (Class<?> shape : each.getInterfaces()) if (shape.getSimpleName().endsWith("MXBean")) return Optional.of(shape);
    }
    return Optional.empty();
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
