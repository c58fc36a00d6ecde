package dunlin.admin.peers;

import dunlin.admin.doctor.DoctorMXBean;
import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.ledger.LedgerMXBean;
import dunlin.broker.client.ClientsMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.NodeBeans;
import java.util.List;
import java.util.Optional;

/** Answers questions of other nodes by the beans of this one. */
public final class PeerAnswers {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: the beans have a bound for each answer, and QuestionService for its bytes.
   * A node that is admitted to the cluster may ask: it may change all of the cluster's data anyway. Only the beans of ASKED are reached. The role of an operator's
   * token is checked where the operator asks.
   * Mixed versions: to a question for which this version has no operation, it says so.
   */
  private static final List<Class<?>> ASKED =
      List.of(
          NodeMXBean.class, DoctorMXBean.class, LedgerMXBean.class, NodeTracesMXBean.class, ClientsMXBean.class, SessionsMXBean.class, SessionExportsMXBean.class,
          RoutesMXBean.class, RetainedMessagesMXBean.class, OperatorCopies.class);

  private final NodeBeans beans;

  public PeerAnswers(NodeBeans beans) {
    this.beans = beans;
  }

  /** @throws IllegalArgumentException when it is no question to a bean */
  public byte[] answer(byte[] question) {
    BeanQuestion.Asked asked = BeanQuestion.Asked.of(question);
    Optional<Class<?>> shape = ASKED.stream().filter(each -> each.getSimpleName().equals(asked.bean())).findFirst();
    if (shape.isEmpty()) return BeanQuestion.bytes(new BeanQuestion.Answer.Unknown());
    Optional<?> bean = PeerBeans.find(beans, shape.get(), asked.range());
    return BeanQuestion.bytes(bean.isEmpty() ? new BeanQuestion.Answer.Absent() : asked.by(shape.get(), bean.get()));
  }
}
