package dunlin.runtime.metrics;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The description of an MXBean, an attribute, an operation or a parameter, for JMX tools. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.PARAMETER})
public @interface Description {
  String value();

  /** Whether a parameter is a secret or a payload, which no log may have. */
  boolean concealed() default false;
}
