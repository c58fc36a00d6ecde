package dunlin.chaos.mqtt;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import dunlin.chaos.TrialException;
import dunlin.cluster.ClusterMXBean;
import java.io.IOException;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Operates a cluster by JMX at one of its brokers, which is a process of this machine and of this network namespace. */
public final class Operator implements AutoCloseable {
  private final JMXConnector connector;
  private final ClusterMXBean cluster;

  @SuppressWarnings("BanJNDI") // the address is the one that the agent of a process started here has just given
  Operator(long pid) {
    try {
      var machine = VirtualMachine.attach(String.valueOf(pid));
      try {
        connector = JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
      } finally {
        machine.detach();
      }
      var beans = connector.getMBeanServerConnection();
      var found = beans.queryNames(new ObjectName("dunlin:type=Cluster,*"), null);
      if (found.size() != 1) throw new TrialException("not one cluster: " + found);
      cluster = JMX.newMXBeanProxy(beans, found.iterator().next(), ClusterMXBean.class);
    } catch (IOException | AttachNotSupportedException | JMException e) {
      throw new TrialException("no JMX at process " + pid, e);
    }
  }

  public ClusterMXBean cluster() {
    return cluster;
  }

  @Override
  public void close() {
    try {
      connector.close();
    } catch (IOException e) {
      // The broker has ended.
    }
  }
}
