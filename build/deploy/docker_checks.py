"""The image and the compose files: checked by tools, and run without containers."""

import re
import shlex
import shutil
import socket
import sys
import tempfile

from checking import DIST, DOCKER, DUNLIN, HERE, NETWORK, PROBE, TEST_JVM, a_message_crosses, accepted, clean_environment, expect, free_port, passwords, \
    processes, ran, run, skip

CLIENTS = 1883


def dockerfile():
    if not shutil.which("hadolint"):
        return skip("Dockerfile", "there is no hadolint")
    ran(["hadolint", str(DOCKER / "Dockerfile")], "hadolint")
    # What is copied from the archive is in it.
    for line in re.findall(r"^COPY (.+)$", (DOCKER / "Dockerfile").read_text(), re.M):
        for source in [word for word in line.split() if not word.startswith("--")][:-1]:
            place = HERE / source.removeprefix("deploy/") if source.startswith("deploy/") else DIST / source
            expect(place.exists(), f"Dockerfile: the archive has no {source}")


def image_variables():
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    return dict(word.split("=", 1) for line in re.findall(r"^ENV (.+)$", text, re.M) for word in shlex.split(line))


def compose():
    """A cluster of equal brokers, and one of separate services."""
    try:
        import podman_compose
        import yaml
    except ImportError:
        return skip("compose files", "there is no PyYAML or no podman-compose")
    for name, roles in (
        ("compose.yaml", {"": 3}),
        ("compose-services.yaml", {"store,retain,inbox": 3, "dist": 2, "frontend": 2}),
    ):
        file = podman_compose.normalize(yaml.safe_load((DOCKER / name).read_text()))
        services = podman_compose.rec_subs(file["services"], {})
        for service in services.values():
            service["extends"]["file"] = str(DOCKER / service["extends"]["file"])
        podman_compose.resolve_extends(services, list(services), {})
        parts_of_compose(name, file, services, roles)
        nodes = {service: Node(service, each) for service, each in services.items() if service != "passwd"}
        if shutil.which("docker") and run(["docker", "compose", "version"]).returncode == 0:
            ran(["docker", "compose", "-f", str(DOCKER / name), "config", "-q"], "docker compose config")
        else:
            skip(name, "there is no docker compose that could read it; its nodes are run without")
        if sys.platform.startswith("linux"):
            started_by_compose(name, nodes)
        else:
            skip(name, "its nodes are started on Linux only, where each gets a loopback address of its own")


class Node:
    """A container of a node of the cluster."""

    def __init__(self, name, service):
        self.name = name
        self.service = service
        self.roles = service["environment"].get("DUNLIN_ROLES", "")
        self.serves = self.roles in ("", "frontend")


def parts_of_compose(name, file, services, roles):
    """What one part of a file calls another one exists, and only what clients connect to can be reached by them."""
    nodes = [Node(service, each) for service, each in services.items() if service != "passwd"]
    counted = {each: sum(node.roles == each for node in nodes) for each in {node.roles for node in nodes}}
    expect(counted == roles, f"{name}: has nodes with the roles {counted}")
    for service, each in services.items():
        for volume in each["volumes"]:
            expect(volume.split(":")[0] in file["volumes"], f"{name}: {service} has the unknown volume {volume}")
        for network in each.get("networks", {}):
            expect(network in file["networks"], f"{name}: {service} is in the unknown network {network}")
    founders = [node for node in nodes if node.roles in ("", "store,retain,inbox")]
    for node in nodes:
        environment = node.service["environment"]
        host = environment["DUNLIN_CLUSTER__HOST"]
        expect(node.service["networks"]["cluster"]["aliases"] == [host], f"{name}: {node.name} is not found as {host}")
        seeds = [f"{founder.service['environment']['DUNLIN_CLUSTER__HOST']}:7100" for founder in founders]
        expect(environment["DUNLIN_CLUSTER__SEEDS"].split(",") == seeds, f"{name}: the seeds of {node.name} are not {seeds}")
        expect(int(environment["DUNLIN_CLUSTER__BOOTSTRAP_EXPECT"]) == len(founders), f"{name}: {node.name} expects another number of founders")
        # Here they bind to loopback addresses, which need neither.
        expect(environment.get("DUNLIN_CLUSTER__PLAINTEXT") == "true", f"{name}: {node.name} has no TLS and does not say so")
        expect(node.service["healthcheck"]["test"] == ["CMD", "dunlin-probe", "/ready"], f"{name}: {node.name} has another health check")
        expect(node.service["read_only"] and node.service["cap_drop"] == ["ALL"], f"{name}: {node.name} may do more than it needs")
        data = [volume for volume in node.service["volumes"] if volume.endswith(":/var/lib/dunlin")]
        expect(len(data) == 1, f"{name}: {node.name} has the data volumes {data}")
        users = "users:/etc/dunlin:ro" in node.service["volumes"]
        expect(users == node.serves and ("ports" in node.service) == node.serves and ("clients" in node.service["networks"]) == node.serves,
               f"{name}: clients can reach {node.name}, or cannot, and should not")
        drain = seconds(environment.get("DUNLIN_DRAIN__TIME", "0s"))
        expect((drain > 0) == node.serves and seconds(node.service["stop_grace_period"]) >= drain + 60, f"{name}: {node.name} is killed while it stops")
    ports = [port.split(":")[1] for node in nodes for port in node.service.get("ports", [])]
    expect(len(set(ports)) == len(ports), f"{name}: two nodes have the same port")
    expect(len({volume for node in nodes for volume in node.service["volumes"] if "dunlin:ro" not in volume}) == len(nodes), f"{name}: nodes share a data volume")
    expect(file["networks"]["cluster"]["internal"], f"{name}: others can reach the network of the cluster")


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text).group(1))


def started_by_compose(name, nodes):
    """Runs the nodes as the containers would, each on an address of its own instead of a container's name."""
    addresses = {node: f"{NETWORK}{number}" for number, node in enumerate(nodes, 41)}
    with tempfile.TemporaryDirectory() as directory, processes() as start:
        passwords(f"{directory}/passwords")
        running = {}
        accepted_roles = set()
        for node in nodes.values():
            environment = clean_environment()
            for key, value in {**image_variables(), **node.service["environment"]}.items():
                value = re.sub(r"([a-z]+-\d)\.cluster", lambda host: addresses[host.group(1)], str(value)).replace("/etc/dunlin", directory)
                environment[key] = value.replace("0.0.0.0", addresses[node.name]).replace("/var/lib/dunlin", f"{directory}/{node.name}")
            port = free_port()
            environment["DUNLIN_ADMIN__PORT"] = str(port)
            if node.roles not in accepted_roles:
                accepted_roles.add(node.roles)
                accepted(f"{name}, {node.name}", environment)
            environment["DUNLIN_JVM_OPTS"] += TEST_JVM
            running[node.name] = (start(node.name, [DUNLIN], environment), port)
        if not all([broker.ready(PROBE, port) for broker, port in running.values()]):
            return
        a_message_crosses(name, [(addresses[node.name], CLIENTS) for node in nodes.values() if node.serves])
        for node in nodes.values():
            with socket.socket() as client:
                expect((client.connect_ex((addresses[node.name], CLIENTS)) == 0) == node.serves, f"{name}: clients can connect to {node.name}, or cannot")
        # One of each kind, while the others go on.
        for node in {node.roles: node for node in nodes.values()}.values():
            broker, _ = running[node.name]
            expect(broker.stop(seconds(node.service["stop_grace_period"])) == 143, f"{name}: {node.name} did not end by SIGTERM")
