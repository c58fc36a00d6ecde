package dunlin.admin.doctor;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** What is wrong around a node, by JMX: {@code dunlin:type=Doctor,node=<id>}. */
@Description("Finds what is wrong with the surroundings of the node")
public interface DoctorMXBean {
  /** Verdicts: all is well; it may become wrong, or costs something; it is wrong. */
  String OK = "ok";
  String WARNING = "warning";
  String WRONG = "wrong";

  /**
   * What one check has found.
   *
   * @param check such as {@code open-files}
   * @param verdict ok, warning or wrong
   * @param finding a sentence
   * @param remedy a sentence; empty when all is well
   */
  record Finding(String check, String verdict, String finding, String remedy) {
    static Finding ok(String check, String finding) {
      return new Finding(check, OK, finding, "");
    }

    static Finding warning(String check, String finding, String remedy) {
      return new Finding(check, WARNING, finding, remedy);
    }

    static Finding wrong(String check, String finding, String remedy) {
      return new Finding(check, WRONG, finding, remedy);
    }
  }

  @Description("Looks at limits of the process and of the kernel, memory, disk, clock, certificates and listeners")
  List<Finding> examine();
}
