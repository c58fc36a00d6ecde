package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.OperatorRow;
import dunlin.runtime.metrics.Description;
import java.util.List;

/** Who signs in to the admin API with a name and a password, by JMX: {@code dunlin:type=Operators,node=<id>}. Only with a TLS port. */
@Description("Operators who sign in to the admin API with a name and a password")
public interface OperatorsMXBean {
  @Description("All operators, in the order of their names")
  List<OperatorRow> getOperators();

  @Description("Adds an operator, or changes the role and the password of one")
  OperatorRow put(
      @Description("Name, of letters, digits, . - and _") String name,
      @Description("viewer, operator or admin") String role,
      @Description(value = "Password, of 12 to 128 characters", concealed = true) String password);

  @Description("Deletes an operator. Requests that have begun are still answered")
  void delete(@Description("Name of the operator") String name);
}
