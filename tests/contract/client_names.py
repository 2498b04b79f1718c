"""Names that clients of Consul send: members of JSON bodies, and parameters of the query.

Members: the structures of Consul's Go client (module github.com/hashicorp/consul/api, up to 1.32), by structure. Embedded structures are written out.
Parameters: what the Go client, python-consul, consulate, the Java clients and Consul's own programs put into a query string.
"""

_CHECK = """CheckID Name ScriptArgs Args DockerContainerID Shell Interval Timeout TTL HTTP Header Method Body TCP TCPUseTLS UDP Status Notes TLSServerName
TLSSkipVerify GRPC GRPCUseTLS H2PING H2PingUseTLS AliasNode AliasService SuccessBeforePassing FailuresBeforeWarning FailuresBeforeCritical
DeregisterCriticalServiceAfter DisableRedirects OSService OutputMaxSize"""
_TOKEN = """CreateIndex ModifyIndex AccessorID SecretID Description Policies Roles ServiceIdentities NodeIdentities TemplatedPolicies Local AuthMethod
ExpirationTTL ExpirationTime CreateTime Hash Rules Namespace Partition AuthMethodNamespace Legacy"""

STRUCTURES = {
    "AgentServiceRegistration": """Kind ID Name Tags Port Ports Address SocketPath TaggedAddresses EnableTagOverride Meta Weights Check Checks Proxy Connect
        Namespace Partition Locality Token""",
    "AgentServiceCheck": _CHECK,
    "AgentCheckRegistration": "ID ServiceID Namespace Partition Token " + _CHECK,
    "AgentService": """Kind ID Service Tags Meta Port Ports Address SocketPath TaggedAddresses Weights EnableTagOverride CreateIndex ModifyIndex ContentHash
        Proxy Connect PeerName Namespace Partition Datacenter Locality""",
    "AgentWeights": "Passing Warning",
    "ServiceAddress": "Address Port",
    "ServicePort": "Name Port Default",
    "AgentServiceConnect": "Native SidecarService PeerMeta",
    "AgentServiceConnectProxyConfig": """EnvoyExtensions DestinationServiceName DestinationServiceID LocalServiceAddress LocalServicePort
        LocalServiceSocketPath Mode TransparentProxy Config Upstreams MeshGateway Expose AccessLogs MutualTLSMode""",
    "Upstream": """DestinationType DestinationPartition DestinationNamespace DestinationPeer DestinationName Datacenter LocalBindAddress LocalBindPort
        LocalBindSocketPath LocalBindSocketMode Config MeshGateway CentrallyConfigured""",
    "MeshGatewayConfig": "Mode",
    "ExposeConfig": "Checks Paths",
    "ExposePath": "ListenerPort Path LocalPathPort Protocol ParsedFromCheck",
    "TransparentProxyConfig": "OutboundListenerPort DialedDirectly",
    "AccessLogsConfig": "Enabled DisableListenerLogs Type Path JSONFormat TextFormat",
    "EnvoyExtension": "Name Required Arguments ConsulVersion EnvoyVersion",
    "Locality": "Region Zone",
    "CheckUpdate": "Status Output",
    "AgentToken": "Token",
    "CatalogRegistration": """ID Node Address TaggedAddresses NodeMeta Datacenter Service Check Checks SkipNodeUpdate Partition Locality PeerName Token
        Namespace EnterpriseMeta""",
    "CatalogDeregistration": "Node Address Datacenter ServiceID CheckID Namespace Partition PeerName Token",
    "Node": "ID Node Address Datacenter TaggedAddresses Meta CreateIndex ModifyIndex Partition PeerName Locality",
    "HealthCheck": """Node CheckID Name Status Notes Output ServiceID ServiceName ServiceTags Type Namespace Partition ExposedPort PeerName Definition
        CreateIndex ModifyIndex Interval Timeout""",
    "HealthCheckDefinition": """HTTP Header Method Body TLSServerName TLSSkipVerify TCP TCPUseTLS UDP GRPC OSService GRPCUseTLS IntervalDuration TimeoutDuration
        DeregisterCriticalServiceAfterDuration Interval Timeout DeregisterCriticalServiceAfter DisableRedirects ScriptArgs DockerContainerID Shell AliasNode
        AliasService TTL OutputMaxSize H2PING H2PingUseTLS""",
    "SessionEntry": "CreateIndex ModifyIndex ID Name Node LockDelay Behavior TTL Namespace Partition Checks NodeChecks ServiceChecks",
    "ServiceCheck": "ID Namespace",
    "TxnOp": "KV Node Service Check",
    "KVTxnOp": "Verb Key Value Flags Index Session Namespace Partition",
    "NodeTxnOp": "Verb Node",
    "ServiceTxnOp": "Verb Node Service Namespace Partition",
    "CheckTxnOp": "Verb Check",
    "KVPair": "Key CreateIndex ModifyIndex LockIndex Flags Value Session Namespace Partition",
    "ACLToken": _TOKEN,
    "ACLPolicy": "ID Name Description Rules Datacenters Hash CreateIndex ModifyIndex Namespace Partition",
    "ACLRole": """ID Name Description Policies ServiceIdentities NodeIdentities TemplatedPolicies Hash CreateIndex ModifyIndex Namespace Partition""",
    "ACLLink": "ID Name",
    "ACLServiceIdentity": "ServiceName Datacenters",
    "ACLNodeIdentity": "NodeName Datacenter",
    "ACLTemplatedPolicy": "TemplateName TemplateVariables Datacenters",
    "ACLAuthorizationRequest": "Resource Segment Access Context",
    "AutopilotConfiguration": """CleanupDeadServers LastContactThreshold MaxTrailingLogs MinQuorum ServerStabilizationTime RedundancyZoneTag
        DisableUpgradeMigration UpgradeVersionTag CreateIndex ModifyIndex""",
    "KeyringRequest": "Key RelayFactor LocalOnly Token",
    "CoordinateEntry": "Node Segment Partition Coord Datacenter Token",
    "Coordinate": "Vec Error Adjustment Height",
    "UserEvent": "ID Name Payload NodeFilter ServiceFilter TagFilter Version LTime",
    "ACLEntry": "CreateIndex ModifyIndex ID Name Type Rules",
    "PreparedQueryDefinition": "ID Name Session Token Service DNS Template",
    "ServiceQuery": """Service SamenessGroup Namespace Partition Peer Near Failover IgnoreCheckIDs OnlyPassing Tags NodeMeta ServiceMeta Connect""",
}
STRUCTURES = {name: names.split() for name, names in STRUCTURES.items()}

ALL_MEMBERS = sorted({name for names in STRUCTURES.values() for name in names})

# What a client may put into the query of any request: the Go client from QueryOptions and WriteOptions, or from its configuration.
EVERYWHERE = """dc ns partition peer index wait stale consistent cached max_stale near token pretty filter node-meta segment relay-factor global connect
merge-central-config sameness-group leader hash ap""".split()

# What clients send to one kind of route only: prefix of the path -> parameters.
OF_ROUTES = {
    "/v1/kv/": "recurse keys separator seperator raw cas flags acquire release",
    "/v1/agent/service/register": "replace-existing-checks",
    "/v1/agent/service/deregister/": "",
    "/v1/agent/service/maintenance/": "enable reason",
    "/v1/agent/maintenance": "enable reason",
    "/v1/agent/check/": "note",
    "/v1/agent/health/": "format",
    "/v1/agent/metrics": "format",
    "/v1/agent/monitor": "loglevel logjson",
    "/v1/agent/members": "wan segment",
    "/v1/agent/join/": "wan",
    "/v1/agent/force-leave/": "prune wan",
    "/v1/event/fire/": "node service tag",
    "/v1/event/list": "name node service tag",
    "/v1/catalog/service/": "tag",
    "/v1/catalog/connect/": "tag",
    "/v1/health/service/": "tag passing state",
    "/v1/health/connect/": "tag passing",
    "/v1/health/ingress/": "tag passing",
    "/v1/operator/raft/peer": "id address",
    "/v1/operator/autopilot/configuration": "cas",
    "/v1/operator/keyring": "local-only",
    "/v1/acl/tokens": "policy role authmethod authmethod-ns servicename",
    "/v1/acl/token/": "expanded",
    "/v1/acl/roles": "policy",
    "/v1/snapshot": "",
}
OF_ROUTES = {path: names.split() for path, names in OF_ROUTES.items()}


def sent_to(path):
    """The parameters that clients of Consul send to that route."""
    return set(EVERYWHERE).union(*(names for prefix, names in OF_ROUTES.items() if path.startswith(prefix)))
