"""The Helm chart: rendered, checked against the types of Kubernetes, and its settings by the broker."""

import contextlib
import re
import shutil
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from checking import DUNLIN, HERE, NETWORK, READY_SECONDS, TEST_JVM, a_message_crosses, accepted, certificate, clean_environment, expect, finding, free_port, \
    hosts_file, passwords, processes, ran, run, skip
from docker_checks import image_variables

CHART = HERE / "helm" / "dunlin"
KUBERNETES = ["1.30", "1.37"]

PLAIN = {"cluster": {"plaintext": True}, "auth": {"anonymous": True}}
FULL = {
    "replicas": 5,
    "cluster": {"tls": {"secretName": "cluster-tls"}},
    "auth": {"passwordsSecret": "users"},
    "listeners": {
        "tlsSecret": "mqtt-tls",
        "tcp": {"enabled": False},
        **{name: {"enabled": True} for name in ("tls", "ws", "wss")},
    },
    "config": "dunlin.mqtt.packet-max = 256KiB\ndunlin.drain.server-reference = \"other.example.com:8883\"",
    "jmx": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "antiAffinity": "preferred",
    "service": {"type": "LoadBalancer", "annotations": {"example.com/a": "b"}, "externalTrafficPolicy": "Local", "loadBalancerSourceRanges": ["10.0.0.0/8"]},
    "persistence": {"storageClass": "fast", "annotations": {"example.com/a": "b"}},
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "mqtt", "operator": "Exists"}],
    "priorityClassName": "high",
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"team": "a"},
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "extraContainers": [{"name": "proxy", "image": "proxy:1"}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
}
SEPARATE = {"separateServices": {"enabled": True}}
# Each value of a service's own is another one than at the top.
OWN = {
    "separateServices": {
        "enabled": True,
        "store": {"config": "dunlin.store.fsync = true", "resources": {"requests": {"cpu": "2"}}},
        "dist": {"replicas": 4, "persistence": {"size": "5Gi"}},
        "frontend": {
            "replicas": 6, "spreadOverZones": False, "drainSeconds": 60, "terminationGracePeriodSeconds": 160, "nodeSelector": {"edge": "yes"},
            "antiAffinity": "none", "config": "dunlin.mqtt.keep-alive-max = 1h", "podLabels": {},
        },
    },
}
RENDERED = {"plain": PLAIN, "full": FULL, "separate": {**PLAIN, **SEPARATE}, "full and separate": {**FULL, **OWN}}


def services(**values):
    return {**PLAIN, "separateServices": {"enabled": True, **values}}


REFUSED = {
    "The brokers need TLS": {"auth": {"anonymous": True}},
    "Who may connect": {"cluster": {"plaintext": True}},
    "Set only one": {"cluster": {"plaintext": True, "tls": {"secretName": "a"}}},
    "listeners.tlsSecret": {**PLAIN, "listeners": {"tls": {"enabled": True}}},
    "No listener": {**PLAIN, "listeners": {"tcp": {"enabled": False}}},
    "replicas must not be less": {**PLAIN, "replicas": 1},
    "antiAffinity is": {**PLAIN, "antiAffinity": "some"},
    "terminationGracePeriodSeconds must": {**PLAIN, "drainSeconds": 60},
    "separateServices.store.replicas": services(store={"replicas": 2}),
    "separateServices.dist.replicas": services(dist={"replicas": 2}),
    "separateServices.frontend.replicas": services(frontend={"replicas": 0}),
    "separateServices.frontend.listeners": services(frontend={"listeners": {}}),
    "the services are": services(retain={"replicas": 3}),
    "or a pod may be killed": services(frontend={"drainSeconds": 90}),
}


def helm_of_machine(values, yaml):
    """Renders by a helm on PATH; returns the text, or a failure's."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        done = run(["helm", "template", "mqtt", str(CHART), "--namespace", "things", "-f", file.name])
        return done.returncode == 0, done.stdout


def helm_of_package(values, _):
    import helm_python

    with helm_python.Chart.load(CHART) as chart:
        try:
            rendered = chart.render(values=values, name="mqtt", namespace="things")
        except Exception as failure:  # the package has a hierarchy of its own
            return False, str(failure)
        return True, "\n---\n".join(text for name, text in rendered.items() if name.endswith(".yaml"))


def helm():
    try:
        import yaml
    except ImportError:
        return skip("chart", "there is no PyYAML")
    if shutil.which("helm"):
        template = helm_of_machine
        ran(["helm", "lint", "--strict", "--set", "cluster.plaintext=true,auth.anonymous=true", str(CHART)], "helm lint")
    else:
        try:
            import helm_python
        except (ImportError, OSError):
            return skip("chart", "there is no helm")
        template = helm_of_package
        for said in helm_python.lint(str(CHART), values=PLAIN)["messages"]:
            expect(said["severity"] < 2, f"helm lint: {said}")  # 1 is a hint, 2 a warning
    for sentence, values in REFUSED.items():
        good, text = template(values, yaml)
        expect(not good and sentence in text, f"chart: not refused with {sentence!r}, but: {text[:200]}")
    for name, values in RENDERED.items():
        good, text = template(values, yaml)
        if not good:
            finding(f"chart, {name}: {text}")
            continue
        documents = [document for document in yaml.safe_load_all(text) if document]
        types_are_right(name, documents)
        parts_fit(name, documents)
        if name == "full and separate":
            values_of_services(name, documents)
        settings_of_the_chart(name, documents)


def types_are_right(name, documents):
    try:
        import kubernetes_validate
    except ImportError:
        return skip("chart", "there is no kubernetes-validate, so types of Kubernetes were not checked")
    for version in KUBERNETES:
        for document in documents:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as wrong:
                finding(f"chart, {name}: {document['kind']} of Kubernetes {version}: {'.'.join(map(str, wrong.path))}: {wrong.message}")


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


TIER = "app.kubernetes.io/component"


def tiers(documents):
    """The StatefulSets by what is in them."""
    return {each["spec"]["template"]["metadata"]["labels"][TIER]: each for each in of_kind(documents, "StatefulSet")}


def parts_fit(name, documents):
    """What one part of the chart calls another one exists."""
    sets = tiers(documents)
    expect(list(sets) == (["store", "dist", "frontend"] if "separate" in name else ["broker"]), f"chart, {name}: has the StatefulSets {list(sets)}")
    kinds = ["ConfigMap", "Service", "Service"] + ["PodDisruptionBudget", "StatefulSet"] * len(sets) + (["NetworkPolicy"] if "full" in name else [])
    expect(sorted(each["kind"] for each in documents) == sorted(kinds), f"chart, {name}: other parts than {kinds}")
    names = [(each["kind"], each["metadata"]["name"]) for each in documents]
    expect(len(set(names)) == len(names), f"chart, {name}: two parts have the same name: {names}")

    def selected(selector):
        """The StatefulSets whose pods a selector selects."""
        return [tier for tier, each in sets.items() if selector and selector.items() <= each["spec"]["template"]["metadata"]["labels"].items()]

    for tier, each in sets.items():
        pods_fit(f"{name}, {tier}", tier, each)
        expect(selected(each["spec"]["selector"]["matchLabels"]) == [tier], f"chart, {name}: the StatefulSet {tier} does not select its own pods")
        spread = each["spec"]["template"]["spec"].get("topologySpreadConstraints", [])
        apart = each["spec"]["template"]["spec"].get("affinity", {}).get("podAntiAffinity", {})
        terms = apart.get("requiredDuringSchedulingIgnoredDuringExecution", [])
        terms += [term["podAffinityTerm"] for term in apart.get("preferredDuringSchedulingIgnoredDuringExecution", [])]
        for term in spread + terms:
            expect(selected(term["labelSelector"]["matchLabels"]) == [tier], f"chart, {name}: {tier} is kept apart from other pods than its own")
    budgets = [selected(each["spec"]["selector"]["matchLabels"]) for each in of_kind(documents, "PodDisruptionBudget")]
    expect(budgets == [[tier] for tier in sets], f"chart, {name}: the disruption budgets are for {budgets}")
    for policy in of_kind(documents, "NetworkPolicy"):
        expect(selected(policy["spec"]["podSelector"]["matchLabels"]) == list(sets), f"chart, {name}: the network policy is not for all pods")
        peers = [each["podSelector"]["matchLabels"] for rule in policy["spec"]["ingress"] for each in rule.get("from", [])]
        expect([selected(each) for each in peers] == [list(sets)], f"chart, {name}: not all pods, or others, may connect to the cluster ports")
    serving = [tier for tier in sets if tier in ("broker", "frontend")]
    for service in of_kind(documents, "Service"):
        nodes = service["metadata"]["name"].endswith("-nodes")
        expect(selected(service["spec"]["selector"]) == (list(sets) if nodes else serving), f"chart, {name}: {service['metadata']['name']} is for other pods")
        if nodes:
            expect(service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"], f"chart, {name}: pods have no names")
            expect({each["spec"]["serviceName"] for each in sets.values()} == {service["metadata"]["name"]}, f"chart, {name}: pods are in no service")
    ports = {port["name"] for each in sets.values() for port in container_of(each)["ports"]}
    served = {port["name"] for tier in serving for port in container_of(sets[tier])["ports"]}
    for service in of_kind(documents, "Service"):
        for port in service["spec"]["ports"]:
            known = ports if service["metadata"]["name"].endswith("-nodes") else served
            expect(port["targetPort"] in known, f"chart, {name}: {service['metadata']['name']} has an unknown port {port['targetPort']}")
    for policy in of_kind(documents, "NetworkPolicy"):
        for port in [port for rule in policy["spec"]["ingress"] for port in rule["ports"]]:
            expect(port["port"] in ports, f"chart, {name}: the network policy has an unknown port {port['port']}")


def container_of(pods):
    return pods["spec"]["template"]["spec"]["containers"][0]


def pods_fit(name, tier, pods):
    expect(len(pods["metadata"]["name"]) <= 52, f"chart, {name}: the name of the StatefulSet leaves no room for its revisions")
    pod = pods["spec"]["template"]["spec"]
    container = container_of(pods)
    volumes = {each["name"] for each in pod["volumes"]} | {each["metadata"]["name"] for each in pods["spec"]["volumeClaimTemplates"]}
    mounts = {each["name"] for each in container["volumeMounts"]}
    expect(volumes == mounts, f"chart, {name}: volumes {volumes} and mounts {mounts}")
    ports = {each["name"] for each in container["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        expect(container[probe]["httpGet"]["port"] in ports, f"chart, {name}: {probe} asks an unknown port")
    serves = tier in ("broker", "frontend")
    expect(bool(ports & {"tcp", "tls", "ws", "wss"}) == serves, f"chart, {name}: clients can connect to it, or cannot")
    expect(("raft" in ports) == (tier != "frontend"), f"chart, {name}: has a port for Raft, or has not")
    expect(("lifecycle" in container) == serves, f"chart, {name}: its clients are not sent away before it stops")
    stop = 90 + (int(container["lifecycle"]["preStop"]["exec"]["command"][1]) if serves else 0)
    expect(pod["terminationGracePeriodSeconds"] >= stop, f"chart, {name}: a pod may be killed while it stops")


def values_of_services(name, documents):
    """Each service has the values at the top, or its own."""
    sets = tiers(documents)
    conf = of_kind(documents, "ConfigMap")[0]["data"]
    pods = {tier: each["spec"]["template"]["spec"] for tier, each in sets.items()}
    seen = {
        "replicas": {tier: each["spec"]["replicas"] for tier, each in sets.items()},
        "disks": {tier: each["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] for tier, each in sets.items()},
        "selectors": {tier: each["nodeSelector"] for tier, each in pods.items()},
        "zones": {tier: "topologySpreadConstraints" in each for tier, each in pods.items()},
        "apart": {tier: "affinity" in each for tier, each in pods.items()},
        "resources": {tier: each["containers"][0]["resources"]["requests"]["cpu"] for tier, each in pods.items()},
        "config": {tier: tuple(re.findall(r"packet-max|fsync|keep-alive-max", text)) for tier, text in ((tier, conf[f"{tier}.conf"]) for tier in sets)},
        "drain": {tier: re.findall(r"dunlin.drain.time = (\S+)", conf[f"{tier}.conf"]) for tier in sets},
    }
    ssd = {"disk": "fast"}
    wanted = {
        "replicas": {"store": 3, "dist": 4, "frontend": 6},
        "disks": {"store": "10Gi", "dist": "5Gi", "frontend": "1Gi"},
        "selectors": {"store": ssd, "dist": ssd, "frontend": {"edge": "yes"}},
        "zones": {"store": True, "dist": True, "frontend": False},
        "apart": {"store": True, "dist": True, "frontend": False},
        "resources": {"store": "2", "dist": "1", "frontend": "1"},
        "config": {"store": ("packet-max", "fsync"), "dist": ("packet-max",), "frontend": ("packet-max", "keep-alive-max")},
        "drain": {"store": [], "dist": [], "frontend": ["60s"]},
    }
    for what, each in wanted.items():
        expect(seen[what] == each, f"chart, {name}: {what} are {seen[what]}, not {each}")


def settings_of_the_chart(name, documents):
    """Every pod would start with its configuration: bin/dunlin check. With everything switched on, three equal brokers also run."""
    sets = tiers(documents)
    with tempfile.TemporaryDirectory() as path:
        directory = Path(path)
        domain = f"{of_kind(documents, 'StatefulSet')[0]['spec']['serviceName']}.things.svc.cluster.local"
        pods = {tier: [Pod(documents, each, number, directory) for number in range(3)] for tier, each in sets.items()}
        founders = next(iter(pods.values()))
        for tier, each in pods.items():
            for pod in each:
                expect(pod.host == f"{pod.name}.{domain}", f"chart, {name}: {pod.name} is not found as {pod.host}")
                for founder in founders:
                    expect(f'"{founder.host}:7100"' in pod.conf, f"chart, {name}: {founder.host} is not among the seeds of {pod.name}")
        for folder in ("cluster", "listeners", "users"):
            (directory / folder).mkdir()
        for folder, host in (("cluster", "*." + domain), ("listeners", "localhost")):
            place = directory / folder
            if not certificate(place / "tls.key", [place / "tls.crt", place / "ca.crt"], [host]):
                return skip("chart", "there is no openssl, so settings with TLS were not checked")
        passwords(directory / "users/passwords")
        for tier, each in pods.items():
            accepted(f"chart, {name}, {tier}", each[0].environment)
        if name == "full" and sys.platform.startswith("linux"):
            started_by_the_chart(pods["broker"], directory)


class Pod:
    """A pod of the chart, on an address of its own and with its files below a directory."""

    def __init__(self, documents, pods, number, directory):
        self.name = f"{pods['metadata']['name']}-{number}"
        self.address = f"{NETWORK}{10 + number}"
        self.probe = container_of(pods)["readinessProbe"]["httpGet"]["path"]
        self.environment = {**clean_environment(), **image_variables()}
        for variable in container_of(pods)["env"]:
            self.environment[variable["name"]] = variable.get("value", self.name).replace("$(POD_NAME)", self.name)
        self.host = self.environment["DUNLIN_CLUSTER__HOST"]
        file = Path(self.environment["DUNLIN_CONFIG"]).name
        self.conf = of_kind(documents, "ConfigMap")[0]["data"][file]
        places = {
            "/etc/dunlin/conf": f"{directory}/{self.name}",
            "/etc/dunlin": str(directory),
            "/var/lib/dunlin": f"{directory}/{self.name}",
            "0.0.0.0": self.address,
            "jmxremote.port=9010": f"jmxremote.port={(jmx := free_port())}",
            "rmi.port=9010": f"rmi.port={jmx}",
        }

        def here(text):
            for place, path in places.items():
                text = text.replace(place, path)
            return text

        (directory / self.name).mkdir()
        (directory / self.name / file).write_text(here(self.conf))
        self.environment = {key: here(value) if key.startswith("DUNLIN_") else value for key, value in self.environment.items()}
        self.environment["DUNLIN_ADMIN__PORT"] = "0"


def started_by_the_chart(pods, directory):
    """Three brokers with TLS, which find each other by the names of the pods; a file stands for the DNS."""
    names = hosts_file(directory / "hosts", {pod.host: pod.address for pod in pods})
    with processes() as start:
        running = []
        for pod in pods:
            pod.environment["DUNLIN_JVM_OPTS"] += TEST_JVM + names
            running.append(start(pod.name, [DUNLIN], pod.environment))
        if all([answers(broker, f"http://{pod.address}:8081{pod.probe}") for broker, pod in zip(running, pods)]):
            a_message_crosses("chart", [(pod.address, 8883) for pod in pods], f"{directory}/listeners/ca.crt")


def answers(broker, url):
    """Waits until a probe of the kubelet says yes."""
    until = time.monotonic() + READY_SECONDS
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until and broker.process.poll() is None:
        with contextlib.suppress(OSError):
            with direct.open(url, timeout=5) as answer:
                if answer.status == 200:
                    return True
        time.sleep(0.3)
    finding(f"{broker.name} has not become ready: {broker.said()}")
    return False
