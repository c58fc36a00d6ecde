package dunlin;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import dunlin.runtime.metrics.Description;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Who may depend on whom. Changing a rule here is a design decision, with a note in docs/adr. */
class ArchitectureTest {
  /** Control messages, as the generator of Protocol Buffers writes them; each keeps its parser in a static field. */
  private static final String GENERATED = "dunlin.store.remote.wire";

  /** Without the load test, which is beside the broker in the distribution and has nothing to do with it. */
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("dunlin")
          .that(resideOutsideOfPackage("dunlin.load.."));

  @Test
  void allModulesAreLookedAt() {
    assertThat(CLASSES.stream().map(JavaClass::getPackageName))
        .contains(
            "dunlin", "dunlin.model", "dunlin.runtime", "dunlin.runtime.metrics", "dunlin.transport", "dunlin.transport.link", "dunlin.transport.lane",
            "dunlin.transport.call",
            "dunlin.store", "dunlin.store.settings", "dunlin.store.disk", "dunlin.store.snapshot", "dunlin.store.node", "dunlin.store.raft", "dunlin.store.serve",
            "dunlin.store.remote", "dunlin.store.grpc", "dunlin.links", "dunlin.placement", "dunlin.placement.plan", "dunlin.cluster", "dunlin.cluster.call",
            "dunlin.dist", "dunlin.dist.remote", "dunlin.retain", "dunlin.retain.remote",
            "dunlin.inbox", "dunlin.inbox.propose", "dunlin.inbox.range", "dunlin.inbox.remote", "dunlin.inbox.repair", "dunlin.inbox.rows", "dunlin.inbox.server",
            "dunlin.broker", "dunlin.broker.codec", "dunlin.broker.auth", "dunlin.broker.limit", "dunlin.broker.listen", "dunlin.broker.meter",
            "dunlin.broker.loop", "dunlin.broker.fanout", "dunlin.broker.session", "dunlin.broker.connect");
  }

  @Test
  void theTiersBehindTheFrontendNeverSeeEachOther() {
    List<String> tiers = List.of("dunlin.dist..", "dunlin.retain..", "dunlin.inbox..");
    for (String tier : tiers) {
      String[] others = tiers.stream().filter(other -> !other.equals(tier)).toArray(String[]::new);
      noClasses().that().resideInAPackage(tier).should().dependOnClassesThat().resideInAnyPackage(others).check(CLASSES);
      noClasses().that().resideInAPackage(tier).should().dependOnClassesThat().resideInAPackage("dunlin.broker..").check(CLASSES);
    }
  }

  @Test
  void whatIsSharedKnowsNobodyWhoSharesIt() {
    noClasses()
        .that()
        .resideInAnyPackage("dunlin.model..", "dunlin.runtime..", "dunlin.transport..", "dunlin.store..", "dunlin.placement..", "dunlin.cluster..")
        .should()
        .dependOnClassesThat(resideInAnyPackage("dunlin.dist..", "dunlin.retain..", "dunlin.inbox..", "dunlin.broker.."))
        .check(CLASSES);
    noClasses()
        .that()
        .resideInAPackage("dunlin.model..")
        .should()
        .dependOnClassesThat(
            resideInAPackage("dunlin..").and(not(resideInAPackage("dunlin.model.."))))
        .check(CLASSES);
  }

  /** A log, a heap dump or a sentence names a class without its package. */
  @Test
  void noTwoClassesHaveOneName() {
    Map<String, List<String>> byName =
        CLASSES.stream()
            .filter(each -> each.isTopLevelClass() && !each.getPackageName().startsWith(GENERATED) && !each.getSimpleName().equals("package-info"))
            .collect(Collectors.groupingBy(JavaClass::getSimpleName, Collectors.mapping(JavaClass::getName, Collectors.toList())));
    byName.values().removeIf(names -> names.size() == 1);
    assertThat(byName).isEmpty();
  }

  @Test
  void rangesKnowNothingOfTheirPlacementAndThatNothingOfWhoCarriesItOut() {
    noClasses()
        .that()
        .resideInAPackage("dunlin.store..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("dunlin.placement..", "dunlin.cluster..")
        .check(CLASSES);
    noClasses().that().resideInAPackage("dunlin.placement..").should().dependOnClassesThat().resideInAPackage("dunlin.cluster..").check(CLASSES);
  }

  @Test
  void nobodyBehindTheProductKnowsIt() {
    noClasses()
        .that()
        .resideOutsideOfPackage("dunlin")
        .should()
        .dependOnClassesThat(resideInAPackage("dunlin"))
        .check(CLASSES);
  }

  @Test
  void librariesStayWithTheirOwners() {
    onlyIn("dunlin.store..", "org.apache.ratis..", "org.rocksdb..");
    onlyIn("dunlin.store.remote..", "com.google.protobuf..");
    noClasses()
        .that()
        .resideOutsideOfPackages("dunlin.store.remote..", "dunlin.store.grpc..", "dunlin.links..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.grpc..")
        .check(CLASSES);
    onlyIn("dunlin.broker..", "io.netty..");
    onlyIn("dunlin.runtime..", "com.typesafe.config..", "com.sun.net.httpserver..");
  }

  /** The short ways to a meter leave no place for what it is about. */
  @Test
  void metersAreDescribed() {
    for (String method : List.of("counter", "timer", "summary", "gauge", "gaugeCollectionSize", "gaugeMapSize")) {
      noClasses().should().callMethodWhere(target(owner(type(MeterRegistry.class))).and(target(name(method)))).check(CLASSES);
    }
  }

  @Test
  void beansAreDescribed() {
    classes()
        .that()
        .haveSimpleNameEndingWith("MXBean")
        .should(
            new ArchCondition<>("say what they and their methods and parameters are") {
              @Override
              public void check(JavaClass bean, ConditionEvents events) {
                Class<?> shape = bean.reflect();
                boolean all = shape.isAnnotationPresent(Description.class);
                for (var method : shape.getDeclaredMethods()) {
                  all &= method.isAnnotationPresent(Description.class);
                  for (var parameter : method.getParameters()) all &= parameter.isAnnotationPresent(Description.class);
                }
                events.add(new SimpleConditionEvent(bean, all, bean.getName() + " lacks a description"));
              }
            })
        .check(CLASSES);
  }

  private static void onlyIn(String owner, String... libraries) {
    noClasses().that().resideOutsideOfPackage(owner).should().dependOnClassesThat().resideInAnyPackage(libraries).check(CLASSES);
  }

  @Test
  void packagesFormNoCycles() {
    slices().matching("dunlin.(**)").should().beFreeOfCycles().check(CLASSES);
  }

  /** A package that can be read in one sitting has 5 to 25 files. Those that have more may only become smaller. */
  @Test
  void packagesStaySmall() {
    Map<String, Long> larger =
        Map.of("dunlin.inbox.range", 29L);
    Map<String, Long> files =
        CLASSES.stream()
            .filter(each -> each.isTopLevelClass() && !each.getPackageName().startsWith(GENERATED) && !each.getSimpleName().equals("package-info"))
            .collect(Collectors.groupingBy(JavaClass::getPackageName, Collectors.counting()));
    files.forEach((name, count) -> assertThat(count).as(name).isLessThanOrEqualTo(larger.getOrDefault(name, 25L)));
  }

  @Test
  void nothingReadsObjectsFromAStream() {
    noClasses().should().dependOnClassesThat().haveFullyQualifiedName("java.io.ObjectInputStream").check(CLASSES);
  }

  @Test
  void noStaticFieldCanChange() {
    fields()
        .that()
        .areStatic()
        .and()
        .areDeclaredInClassesThat()
        .resideOutsideOfPackage(GENERATED)
        .should()
        .beFinal()
        .check(CLASSES);
  }

  /** Packages that only their own tier uses, though their types are public for each other; and the types that others do use. */
  @Test
  void whatATierIsMadeOfStaysInIt() {
    only("dunlin.inbox", List.of("dunlin.inbox.rows", "dunlin.inbox.range", "dunlin.inbox.propose"), List.of());
    only("dunlin.store", List.of("dunlin.store.node", "dunlin.store.disk"), List.of("StoredRows", "DurableFile"));
    only("dunlin.broker", List.of("dunlin.broker.limit"), List.of("NodeBudget", "MemoryKeys"));
    only(
        "dunlin.broker",
        List.of("dunlin.broker.loop", "dunlin.broker.fanout", "dunlin.broker.session", "dunlin.broker.connect"),
        List.of("FrontendSettings", "Tiers"));
  }

  private static void only(String tier, List<String> packages, List<String> shown) {
    classes()
        .that()
        .resideInAnyPackage(packages.toArray(String[]::new))
        .and(DescribedPredicate.describe("are not shown", (JavaClass each) -> !shown.contains(outermost(each).getSimpleName())))
        .should()
        .onlyHaveDependentClassesThat()
        .resideInAPackage(tier + "..")
        .check(CLASSES);
  }

  @Test
  void mostTypesAreUsedInTheirTierOnly() {
    List<JavaClass> types = CLASSES.stream().filter(each -> each.isTopLevelClass() && !each.getSimpleName().equals("package-info")).toList();
    List<JavaClass> used =
        types.stream()
            .filter(each -> each.getDirectDependenciesToSelf().stream().anyMatch(from -> !tier(from.getOriginClass()).equals(tier(each))))
            .toList();

    assertThat(used).as("types of %d that another tier uses", types.size()).hasSizeLessThan(types.size() / 3);
  }

  private static JavaClass outermost(JavaClass type) {
    return type.getEnclosingClass().map(ArchitectureTest::outermost).orElse(type);
  }

  private static String tier(JavaClass type) {
    String inside = type.getPackageName().substring("dunlin".length());
    int end = inside.indexOf('.', 1);
    return end < 0 ? inside : inside.substring(0, end);
  }
}
