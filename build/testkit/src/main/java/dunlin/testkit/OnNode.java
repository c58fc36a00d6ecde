package dunlin.testkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Says which broker of a {@link DunlinTest} a parameter is about. A parameter of type {@code int} with it is the broker's port for clients. */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface OnNode {
  /** The number of the node, from 0. */
  int value() default 0;
}
