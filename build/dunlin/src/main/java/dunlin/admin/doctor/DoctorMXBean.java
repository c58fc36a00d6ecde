package dunlin.admin.doctor;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** What is wrong around a node, by JMX: {@code dunlin:type=Doctor,node=<id>}. */
@Description("Finds what is wrong with the surroundings of the node")
public interface DoctorMXBean {
  /** Verdicts: all is well; it may become wrong, or costs something; it is wrong; it could not be looked at. */
  String OK = "ok";
  String WARNING = "warning";
  String WRONG = "wrong";
  String UNKNOWN = "unknown";

  /**
   * What one check has found.
   *
   * @param check such as {@code open-files}
   * @param verdict ok, warning, wrong or unknown
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

    /** @param reason why it could not be looked at, as a sentence */
    static Finding unknown(String check, String reason) {
      return new Finding(check, UNKNOWN, reason, "Look at it on the machine itself; other systems than Linux, and some containers, do not show it.");
    }
  }

  @Description("Looks at the process, memory, disk, clock, certificates, ports, kernel, ranges, and at what clients were refused in the last hour; changes nothing")
  List<Finding> examine();
}
