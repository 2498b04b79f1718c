"""Prometheus finds its targets in the catalog. usage: prometheus_targets.py PROMETHEUS"""
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "operators"))
from cases import HOST, PORT, case, equal, eventually  # noqa: E402
from servers import die_with_parent, free_ports  # noqa: E402

CONFIG = """
global: {scrape_interval: 1h}
scrape_configs:
- job_name: found
  consul_sd_configs: [{server: '%s', refresh_interval: 1s, tags: [scraped]}]
  relabel_configs:
  - {source_labels: [__meta_consul_service], target_label: service}
  - {source_labels: [__meta_consul_tags], target_label: tags}
  - {source_labels: [__meta_consul_service_metadata_zone], target_label: zone}
""" % f"{HOST}:{PORT}"


def put(path, body=None):
    request = urllib.request.Request(f"http://{HOST}:{PORT}{path}", json.dumps(body).encode() if body else b"", method="PUT")
    urllib.request.urlopen(request, timeout=30).read()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "config.yml").write_text(CONFIG)
    port = free_ports(1)[0]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([sys.argv[1], f"--config.file={folder}/config.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder, preexec_fn=die_with_parent)

    def targets():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets?state=active", timeout=30) as answer:
                return sorted((t["labels"]["instance"], t["labels"]["service"], t["labels"].get("zone"), t["labels"]["tags"])
                              for t in json.load(answer)["data"]["activeTargets"])
        except OSError:
            return None

    @case("a service is found")
    def found():
        put("/v1/agent/service/register", {"Name": "web", "ID": "web-1", "Address": "127.0.0.1", "Port": 1, "Tags": ["scraped", "b"], "Meta": {"zone": "a"}})
        put("/v1/agent/service/register", {"Name": "other", "Port": 3})
        eventually(lambda: targets() == [("127.0.0.1:1", "web", "a", ",scraped,b,")], 60)

    @case("a second instance")
    def second():
        put("/v1/catalog/register", {"Node": "elsewhere", "Address": "127.0.0.9", "Service": {"Service": "web", "ID": "web-2", "Port": 2, "Tags": ["scraped"]}})
        eventually(lambda: [t[0] for t in targets()] == ["127.0.0.1:1", "127.0.0.9:2"], 60)

    @case("one is gone")
    def gone():
        put("/v1/agent/service/deregister/web-1")
        eventually(lambda: [t[0] for t in targets()] == ["127.0.0.9:2"], 60)
        put("/v1/catalog/deregister", {"Node": "elsewhere"})
        eventually(lambda: targets() == [], 60)

    equal(process.poll(), None)
    process.kill()
    process.wait()
    print("done")
