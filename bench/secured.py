"""Tokens and certificates for measurements with ACLs and HTTPS."""

import concurrent.futures
import json
import os
import random
import subprocess

MASTER = "5a9f2b1e-6f0e-4c0c-9a53-1d0f0b3c7e11"  # of servers that live as long as the measurement
DENY_BY_DEFAULT = {"acl": {"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER}}}

POLICIES, RULES, TOKENS, WATCHERS_TOKENS = 200, 50, 1000, 100
POLICIES_OF_A_TOKEN = 4  # one of them allows what the load does


def rules(policy):
    """Rules about nothing in the load, but with names that begin like its keys: a look-up visits
    them."""
    kinds = [("key_prefix", "bench/"), ("key_prefix", "watch/"), ("key", "bench/"), ("service_prefix", ""), ("node_prefix", "")]
    levels = ["read", "write", "deny"]
    return "\n".join(
        f'{kinds[i % len(kinds)][0]} "{kinds[i % len(kinds)][1]}team-{policy:03}/part-{i:02}" {{ policy = "{levels[i % len(levels)]}" }}' for i in range(RULES)
    )


ALLOWS_LOAD = "\n".join(
    [f'key_prefix "{prefix}" {{ policy = "write" }}' for prefix in ("bench", "list/", "watch/")] + ['session_prefix "" { policy = "write" }']
)


def fill_acls(server, folder):
    """Writes the policies and the tokens. Returns two files with one SecretID per line: of all
    tokens, and of those for watchers."""

    def create(what, body):
        status, answer = server.ask("PUT", f"/v1/acl/{what}", json.dumps(body).encode())
        if status != 200:
            raise SystemExit(f"no {what}: {status} {answer.decode(errors='replace')}")
        return json.loads(answer)

    def token(_):
        some = random.sample(range(POLICIES), POLICIES_OF_A_TOKEN - 1)
        return create("token", {"Policies": [{"Name": f"team-{n:03}"} for n in some] + [{"Name": "load"}]})["SecretID"]

    create("policy", {"Name": "load", "Rules": ALLOWS_LOAD})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: create("policy", {"Name": f"team-{n:03}", "Rules": rules(n)}), range(POLICIES)))
        secrets = list(pool.map(token, range(TOKENS)))
    paths = []
    for count in (TOKENS, WATCHERS_TOKENS):
        paths.append(os.path.join(folder, f"tokens-{count}"))
        with open(paths[-1], "w") as out:
            out.write("\n".join(secrets[:count]) + "\n")
    return paths


def certificate(binary, folder):
    """Settings with a certificate for servers, and the authority that signed it."""
    os.makedirs(folder, exist_ok=True)
    for command in (["ca", "create"], ["cert", "create", "-server", "-additional-ipaddress=127.0.0.1"]):
        subprocess.run([os.path.abspath(binary), "tls", *command], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    names = {"ca_file": "consul-agent-ca.pem", "cert_file": "dc1-server-consul-0.pem", "key_file": "dc1-server-consul-0-key.pem"}
    return {setting: os.path.join(folder, name) for setting, name in names.items()}
