package dunlin.runtime.metrics;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import javax.management.DescriptorKey;

/** What an attribute or a parameter of an MXBean counts or is measured in, such as {@code seconds}. JMX tools find it as the field {@code units} of its descriptor. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.PARAMETER})
public @interface Unit {
  @DescriptorKey("units")
  String value();
}
